#pragma once

#include "report/result_table.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Elements of the page. Texts are escaped here, and their formulas set; what is called html is markup already.
namespace ignd {

// Among the first lines of every page: what a page of ours is known by.
inline constexpr std::string_view page_mark = "<meta name=\"generator\" content=\"ignd\">";

// The page up to its heading, and what follows the last element: its style and its script, which alone may run.
std::string page_start(std::string_view title, std::string_view heading);
std::string page_end();

std::string paragraph(std::string_view text, std::string_view css_class = "");
std::string paragraphs(std::string_view text);  // separated by empty lines
std::string bullet_list(const std::vector<std::string>& items);
std::string box(std::string_view heading, const std::vector<std::string>& items);  // "" without items

std::string fact_list(const std::vector<std::pair<std::string, std::string>>& facts);  // names and texts

// Rows of cells, which a script can sort by a click unless they belong together; of texts, which wrap.
enum class Rows { sortable, in_groups, of_texts };
std::string table_start(std::string_view caption, const std::vector<std::string>& header, Rows rows = Rows::sortable);
std::string table_row(const std::vector<std::string>& html_cells, std::string_view tag,
                      std::string_view css_class = "");
inline constexpr std::string_view table_end = "</tbody>\n</table></div>\n";

std::string html_table(const ResultTable& table, const std::vector<std::string>& header, Rows rows = Rows::sortable);

}  // namespace ignd
