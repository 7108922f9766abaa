#pragma once

#include "report/result_table.hpp"

#include <string>
#include <string_view>
#include <vector>

// Elements of the page. Texts are escaped here, and their formulas set; what is called html is markup already.
namespace ignd {

std::string paragraph(std::string_view text, std::string_view css_class = "");
std::string paragraphs(std::string_view text);  // separated by empty lines
std::string bullet_list(const std::vector<std::string>& items);
std::string box(std::string_view heading, const std::vector<std::string>& items);  // "" without items

// Rows of cells, which a script can sort by a click unless they belong together.
enum class Rows { sortable, in_groups };
std::string table_start(std::string_view caption, const std::vector<std::string>& header, Rows rows = Rows::sortable);
std::string table_row(const std::vector<std::string>& html_cells, std::string_view tag,
                      std::string_view css_class = "");
inline constexpr std::string_view table_end = "</tbody>\n</table></div>\n";

std::string html_table(const ResultTable& table, const std::vector<std::string>& header, Rows rows = Rows::sortable);

}  // namespace ignd
