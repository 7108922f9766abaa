#include "data/row_text.hpp"

#include "base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {

std::string_view word_at(const char* at, const char* end) { return {at, std::find_if(at, end, is_blank)}; }

std::string is_not(std::string_view word, std::string_view what) {
  return fmt::format("{} is not {}", in_quotes(word), what);
}

}  // namespace ignd
