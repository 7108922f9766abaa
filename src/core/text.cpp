#include "core/text.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t replaced = diagonal + (letter == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

// Bytes of the character that a text begins with, in UTF-8; 0 if it is none, or one that does not print: controls, and
// what turns the direction of the writing round.
std::size_t printed_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t point = first & (0x7fU >> length);
  for (std::size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xc0U) != 0x80) return 0;
    point = (point << 6U) | (next & 0x3fU);
  }
  constexpr std::uint32_t least[]{0, 0, 0x80, 0x800, 0x10000};
  const bool is_character = point >= least[length] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  const bool turns = (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  return is_character && point >= 0xa0 && !turns ? length : 0;
}

template <class Number>
Number parse_whole(std::string_view text, std::string_view what, std::string_view kind) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || std::isnan(static_cast<double>(value))) {
    throw InvalidArgument(fmt::format("{} is {}, which is not a {}", what, in_quotes(text), kind));
  }
  return value;
}

}  // namespace

std::string format_number(double value) { return fmt::format("{}", value); }

double parse_number(std::string_view text, std::string_view what) { return parse_whole<double>(text, what, "number"); }

std::uint64_t parse_count(std::string_view text, std::string_view what) {
  return parse_whole<std::uint64_t>(text, what, "whole number");
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = printed_length(text);
    if (limit < std::max<std::size_t>(length, 1)) return out + "...";
    limit -= std::max<std::size_t>(length, 1);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string quoted_path(const std::filesystem::path& path) {
  return "'" + printable(path.string(), path.native().size()) + "'";
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t longest = 40;  // no name is as long
  if (word.size() > longest || known.empty()) return "";
  const auto& nearest = *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  const std::size_t near = std::max<std::size_t>(2, nearest.size() / 2);
  return edit_distance(word, nearest) <= near ? fmt::format(", did you mean '{}'?", nearest) : "";
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string list_faults(std::span<const std::string> faults) {
  constexpr std::size_t most = 10;
  if (faults.size() <= most) return join(faults, "; ");
  return fmt::format("{}; and {} more", join(faults.first(most), "; "), faults.size() - most);
}

}  // namespace ignd
