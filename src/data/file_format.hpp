#pragma once

#include <string>
#include <string_view>

namespace ignd {

// What a file is that is no text of rows or examples, by its first bytes, and what to do with it: "a Parquet file;
// ...". Empty if it may be one. Of a text the first line should be there.
std::string describe_other_format(std::string_view beginning);

}  // namespace ignd
