#pragma once

#include <string>
#include <string_view>

// Names and texts come from people's files: each output has its own way to take them literally.
namespace ignd {

// One line of valid UTF-8 without control characters.
std::string clean_text(std::string_view text);

// The first `most` characters, with an ellipsis where there were more.
std::string shortened(std::string_view text, std::size_t most);

std::string html_text(std::string_view text);  // between tags and inside quoted attributes
std::string latex_text(std::string_view text);
std::string markdown_text(std::string_view text);
// Spreadsheets take a text that begins with =, +, -, @ or a tab for a formula, unless it is a number: such a text gets
// an apostrophe in front. The second keeps all other bytes as they are.
std::string csv_field(std::string_view text);
std::string csv_bytes(std::string_view text);
std::string gnuplot_text(std::string_view text);  // quoted; enhanced mode must be off where it is used

// Lower-case letters, digits and single hyphens, for names of files and anchors.
std::string slug(std::string_view text);

}  // namespace ignd
