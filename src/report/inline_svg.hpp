#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ignd {

// A drawing by gnuplot as an element of a page: without the prologue, every id starting with `prefix`, as wide as the
// page wants it, with `label` for those who do not see it. Nothing where the text is no drawing.
std::optional<std::string> inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace ignd
