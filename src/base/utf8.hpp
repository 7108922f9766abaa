#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ignd {

// What a text that is not empty begins with: a character, or bytes that begin one and are not gone on with.
struct Utf8Character {
  std::size_t size;
  bool whole;
};
Utf8Character character_at(std::string_view text);

// The text itself where its bytes are UTF-8. Elsewhere a copy in `buffer`, in which one U+FFFD stands for every
// beginning of a character that is not gone on with, taken as long as it can be, and for every other byte that begins
// none: what Python's errors="replace" does, and what Unicode recommends.
std::string_view repaired_utf8(std::string_view text, std::string& buffer);

}  // namespace ignd
