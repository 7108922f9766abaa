#pragma once

#include "ignd/random.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Writes comma-separated values, knowing nothing of how the library reads them.
namespace ignd::testing {

inline std::string csv_field(std::string_view text, char delimiter, bool quoted) {
  const std::string special{delimiter, '"', '\n', '\r'};
  if (!quoted && text.find_first_of(special) == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Some fields are in quotes that need none.
inline std::string csv_row(const std::vector<std::string>& fields, char delimiter, RandomStream& stream) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += delimiter;
    out += csv_field(fields[i], delimiter, stream.below(4) == 0);
  }
  return out;
}

}  // namespace ignd::testing
