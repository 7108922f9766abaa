#pragma once

#include <string>
#include <string_view>

namespace ignd {

// "90s", "10m" or "2h" in seconds. Throws InvalidArgument.
double parse_duration(std::string_view text);

// For humans: "0.51 s", "45 s", "3 min 20 s", "1 h 20 min"; "n/a" for what is not a duration.
std::string duration_text(double seconds);

}  // namespace ignd
