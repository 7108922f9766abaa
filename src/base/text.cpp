#include "base/text.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// False for control characters, line ends, and marks that change the writing direction.
bool prints(std::string_view character) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(character[k]); };
  if (character.size() == 1) return byte(0) >= 0x20 && byte(0) != 0x7f;
  if (character.size() == 2) return byte(0) != 0xc2 || byte(1) >= 0xa0;
  const bool turns = byte(0) == 0xe2 && ((byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
                                         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
  return !turns;
}

// With or without a sign.
bool reads_as_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} && end == text.data() + text.size();
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
    const Utf8Character found = character_at(text);
    const bool stands = found.whole && prints(text.substr(0, found.size));
    const std::size_t taken = stands ? found.size : 1;
    if (limit < taken) return out + "...";
    limit -= taken;
    out += stands ? std::string(text.substr(0, taken)) : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(taken);
  }
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string quoted_path(const std::filesystem::path& path) {
  return "'" + printable(path.string(), path.native().size()) + "'";
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t longest = 40;  // longer than any name
  if (word.size() > longest || known.empty()) return "";
  const auto& nearest = *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  const std::size_t near = std::max<std::size_t>(2, nearest.size() / 2);
  return edit_distance(word, nearest) <= near ? fmt::format(", did you mean '{}'?", nearest) : "";
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string csv_quoted(std::string_view text) {
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

std::string csv_bytes(std::string_view text) {
  const bool is_formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos && !reads_as_number(text);
  const std::string field = (is_formula ? "'" : "") + std::string(text);
  return text.find_first_of("\",\r\n") == std::string_view::npos ? field : csv_quoted(field);
}

std::string list_faults(std::span<const std::string> faults) {
  constexpr std::size_t most = 10;
  if (faults.size() <= most) return join(faults, "; ");
  return fmt::format("{}; and {} more", join(faults.first(most), "; "), faults.size() - most);
}

namespace {

// "3 min 20 s", or "3 min" if the rest is 0.
std::string in_two_units(std::uint64_t count, const char* unit, std::uint64_t rest, const char* smaller_unit) {
  const std::string text = fmt::format("{} {}", count, unit);
  return rest == 0 ? text : fmt::format("{} {} {}", text, rest, smaller_unit);
}

}  // namespace

double parse_duration(std::string_view text) {
  const std::string_view units = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  double value = -1;
  if (unit != std::string_view::npos) {
    try {
      value = parse_number(text.substr(0, text.size() - 1), "the budget");
    } catch (const InvalidArgument&) {  // reported below, with what is expected
      value = -1;
    }
  }
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidArgument(fmt::format("the budget is {}, but must be a time such as 90s, 10m or 2h", in_quotes(text)));
  }
  return value * std::pow(60, static_cast<double>(unit));
}

std::string with_commas(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string in_short(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}g}", *value, digits) : "n/a";
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e15)) return "n/a";
  if (seconds < 10) return fmt::format("{} s", format_number(std::round(seconds * 100) / 100));
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return in_two_units(whole / 60, "min", whole % 60, "s");
  return in_two_units(whole / 3600, "h", whole % 3600 / 60, "min");
}

namespace {

// How many bytes must follow a first byte, and the range of the next one, which excludes overlong forms, surrogates and
// values beyond Unicode.
struct Lead {
  std::size_t more;
  unsigned char low, high;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {0, 0, 0};
  if (first >= 0xc2 && first <= 0xdf) return {1, 0x80, 0xbf};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {2, 0x80, 0xbf};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {3, 0x80, 0xbf};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {1, 0xff, 0};  // not a first byte: nothing may follow
}

}  // namespace

Utf8Character character_at(std::string_view text) {
  Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  for (std::size_t i = 1; i <= lead.more; ++i) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    if (byte < lead.low || byte > lead.high) return {i, false};
    lead.low = 0x80;
    lead.high = 0xbf;
  }
  return {lead.more + 1, true};
}

namespace {

std::size_t ascii_prefix(std::string_view text) {
  std::size_t size = 0;
  for (std::uint64_t bytes = 0; size + sizeof bytes <= text.size(); size += sizeof bytes) {
    std::memcpy(&bytes, text.data() + size, sizeof bytes);
    if ((bytes & 0x8080808080808080) != 0) break;
  }
  return size;
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t size = ascii_prefix(text);
  while (size < text.size()) {
    const Utf8Character character = character_at(text.substr(size));
    if (!character.whole) break;
    size += character.size;
    if (character.size > 1) size += ascii_prefix(text.substr(size));
  }
  return size;
}

}  // namespace

std::string_view repaired_utf8(std::string_view text, std::string& buffer) {
  std::size_t valid = valid_prefix(text);
  if (valid == text.size()) return text;
  buffer.clear();
  while (valid < text.size()) {
    buffer.append(text.substr(0, valid));
    buffer.append("\xef\xbf\xbd");
    text.remove_prefix(valid + character_at(text.substr(valid)).size);
    valid = valid_prefix(text);
  }
  return buffer.append(text);
}

}  // namespace ignd
