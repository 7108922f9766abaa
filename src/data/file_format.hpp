#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ignd {

// What a file is that is no text of rows or examples, by its first bytes, and what to do with it: "a Parquet file;
// ...". Empty if it may be one. Of a text the first line should be there.
std::string describe_other_format(std::string_view beginning);

// Whether bytes begin, as far as they go, as a file of another format does that is told by its first bytes;
// format_bytes of them are enough to tell which one.
bool begins_like_other_format(std::string_view beginning);
inline constexpr std::size_t format_bytes = 64;

}  // namespace ignd
