#pragma once

#include "lab/experiment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Names and texts come from users' files: each output format has its own escaping.

// One line of valid UTF-8 without control characters.
std::string clean_text(std::string_view text);

// The first `most` characters, with an ellipsis where there were more.
std::string shortened(std::string_view text, std::size_t most);

std::string html_text(std::string_view text);  // between tags and inside quoted attributes
std::string latex_text(std::string_view text);
std::string markdown_text(std::string_view text);
std::string csv_field(std::string_view text);     // csv_bytes (base/text.hpp) of clean text
std::string gnuplot_text(std::string_view text);  // quoted; enhanced mode must be off where it is used

// Lower-case letters, digits and single hyphens, for names of files and anchors.
std::string slug(std::string_view text);

// Numbers in readable form; "n/a" where there is none.

inline constexpr std::string_view not_available = "n/a";

// "1e-08" is how programs write it, "1e-8" how people do.
std::string without_zeros_in_exponent(std::string number);

std::string number_text(std::optional<double> value);  // four digits, "5e-15"
std::string rate_text(double rate);                    // all of its digits, "1e-8"

// "0.227 ± 0.016", "(5.1 ± 1.2)e-15": two digits of the spread, and the mean to the same place.
std::string with_spread(std::optional<double> mean, std::optional<double> deviation);

// A number quoted from elsewhere: all digits that were given, and no more.
std::string with_given_spread(double mean, std::optional<double> deviation);

// "7 of 20"; "none" of nothing.
std::string part_text(std::uint64_t done, std::uint64_t planned);

// "20", or "7 of 20" where some are missing.
std::string count_text(std::uint64_t done, std::uint64_t planned);

std::string seeds_text(std::vector<std::uint64_t> seeds);  // "1 to 20, 25"

// The title to show: the name if there is none.
inline const std::string& title_of(const ExperimentResults& experiment) {
  return experiment.title.empty() ? experiment.name : experiment.title;
}

inline const std::string& title_of(const PanelResults& panel) { return panel.title.empty() ? panel.name : panel.title; }

}  // namespace ignd
