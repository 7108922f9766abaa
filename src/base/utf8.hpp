#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ignd {

// The start of a text that is not empty: a character, or a truncated or invalid sequence.
struct Utf8Character {
  std::size_t size;
  bool whole;
};
Utf8Character character_at(std::string_view text);

// The text itself if it is UTF-8. Otherwise a copy in `buffer`, with one U+FFFD for every truncated sequence, as long
// as possible, and for every other invalid byte: as Python's errors="replace" does, and as Unicode recommends.
std::string_view repaired_utf8(std::string_view text, std::string& buffer);

}  // namespace ignd
