#include "data/example_parser.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

// Names are a few bytes long: a function call would take as long as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ignd {
namespace {

// Helpers of both parsers.

bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char* skip_blanks(const char* at, const char* end) {
  while (at < end && is_blank(*at)) ++at;
  return at;
}

// The text up to the next blank, for messages.
std::string_view word_at(const char* at, const char* end) { return {at, std::find_if(at, end, is_blank)}; }

// "'12x' is not WHAT".
std::string is_not(std::string_view word, std::string_view what) {
  return fmt::format("{} is not {}", in_quotes(word), what);
}

// Reads an unsigned decimal number below 2^32. Returns null for a larger number, or if there is no number.
const char* read_index(const char* at, const char* end, std::uint32_t& index) {
  if (end - at >= 8) {
    const EightDigits digits = read_eight_digits(at);
    index = digits.value;
    if (digits.count > 0 && digits.count < 8) return at + digits.count;
  }
  const char* const first = at;
  std::uint64_t value = 0;
  for (; at < end && is_digit(*at); ++at) {
    value = 10 * value + static_cast<std::uint64_t>(*at - '0');
    if (value > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  }
  index = static_cast<std::uint32_t>(value);
  return at > first ? at : nullptr;
}

// Reads a number that is finite as a T. Returns null if there is no such number.
template <class T>
const char* read_finite(const char* at, const char* end, T& value) {
  double number = 0;
  at = read_number(at, end, number);
  value = static_cast<T>(number);
  return std::isfinite(value) ? at : nullptr;
}

}  // namespace

ParseResult ExampleParser::parse(std::string_view lines, std::uint64_t first_line, BadRows policy,
                                 ExampleBlock& block) const {
  ParseResult result;
  for (std::uint64_t number = first_line; !lines.empty(); ++number) {
    const std::size_t newline = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, newline);
    lines.remove_prefix(std::min(newline + 1, lines.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);

    std::string fault = parse_line(line, number, block);
    if (fault.empty()) continue;
    block.drop_unfinished();
    if (policy == BadRows::stop) {
      result.stopped_at = RowFault{number, std::move(fault)};
      return result;
    }
    ++result.skipped;
    if (!result.first_skipped) result.first_skipped = RowFault{number, std::move(fault)};
    if (policy != BadRows::mark) continue;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    block.finish(none, none, number);
  }
  return result;
}

namespace {

bool ends_word(const char* at, const char* end) { return at == end || is_blank(*at) || *at == '#'; }

// Skips "qid:N". Returns `at` if there is no query, null if it is malformed.
const char* skip_query(const char* at, const char* end) {
  constexpr std::string_view mark = "qid:";
  if (!std::string_view(at, end).starts_with(mark)) return at;
  std::uint32_t query = 0;
  const char* const behind = read_index(at + mark.size(), end, query);
  return behind != nullptr && ends_word(behind, end) ? behind : nullptr;
}

}  // namespace

std::string SvmlightParser::parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const {
  const char* const end = line.data() + line.size();
  const char* word = skip_blanks(line.data(), end);
  if (word == end || *word == '#') return "";

  double label = 0;
  const char* at = read_finite(word, end, label);
  if (at == nullptr || !ends_word(at, end)) {
    return is_not(word_at(word, end), "a label, which is a finite number");
  }
  word = skip_blanks(at, end);
  at = skip_query(word, end);
  if (at == nullptr) return is_not(word_at(word, end), "a query, which is qid:N");

  while (true) {
    word = skip_blanks(at, end);
    if (word == end || *word == '#') break;
    std::uint32_t index = 0;
    float value = 0;
    at = read_index(word, end, index);
    if (at != nullptr && at != end && *at == ':') {
      at = read_finite(at + 1, end, value);
      if (at != nullptr && ends_word(at, end)) {
        block.index.push_back(index);
        block.value.push_back(value);
        continue;
      }
    }
    return is_not(word_at(word, end), "INDEX:VALUE with an index below 2^32 and a finite value");
  }
  block.finish(label, 1, number);
  return "";
}

namespace {

struct Label {
  double target = std::numeric_limits<double>::quiet_NaN();
  double importance = 1;
};

struct Namespace {
  std::uint64_t seed = 0;
  double scale = 1;
};

bool ends_feature(const char* at, const char* end) { return at == end || is_blank(*at) || *at == '|'; }

const char* end_of_name(const char* at, const char* end) {
  while (!ends_feature(at, end) && *at != ':') ++at;
  return at;
}

// For messages.
std::string_view feature_at(const char* at, const char* end) {
  return {at, std::find_if(at, end, [](char c) { return is_blank(c) || c == '|'; })};
}

// Reads what precedes the first bar. Returns what is wrong with it, or "".
std::string read_label(const char* at, const char* bar, Label& label) {
  std::array<double, 3> numbers{label.target, label.importance, 0};
  std::size_t count = 0;
  for (at = skip_blanks(at, bar); at != bar; at = skip_blanks(at, bar)) {
    const std::string_view word = word_at(at, bar);
    const char* const behind = at + word.size();
    const bool last = skip_blanks(behind, bar) == bar;
    if (last && (word.starts_with('\'') || behind == bar)) break;
    if (count == numbers.size()) return is_not(word, "a tag; after label, importance and base comes 'TAG or a bar");
    if (read_finite(at, behind, numbers[count]) != behind) {
      return is_not(word, "a finite number; label, importance, base and 'TAG come before the bar");
    }
    ++count;
    at = behind;
  }
  if (numbers[1] < 0) return fmt::format("the importance {} is negative", numbers[1]);
  if (numbers[2] != 0) return fmt::format("the base prediction is {}, but only 0 can be used", numbers[2]);
  label = {numbers[0], numbers[1]};
  return "";
}

// Reads the word that touches the bar. Returns where it ends, or null.
const char* read_namespace(const char* at, const char* end, Namespace& space) {
  if (ends_feature(at, end)) return at;
  const char* const name = at;
  at = end_of_name(name, end);
  if (at == name) return nullptr;
  space.seed = XXH3_64bits(name, static_cast<std::size_t>(at - name));
  if (ends_feature(at, end)) return at;
  at = read_finite(at + 1, end, space.scale);
  return at != nullptr && ends_feature(at, end) ? at : nullptr;
}

// Returns where the name ends, or null.
const char* read_name(const char* at, const char* end, const Namespace& space, std::uint32_t& index) {
  const char* const name = at;
  if (space.seed == 0) {
    at = read_index(name, end, index);
    if (at != nullptr && (ends_feature(at, end) || *at == ':')) return at;
  }
  at = end_of_name(name, end);
  index = static_cast<std::uint32_t>(XXH3_64bits_withSeed(name, static_cast<std::size_t>(at - name), space.seed));
  return at == name ? nullptr : at;
}

// Appends the feature that starts at `at` and returns where it ends, or null.
const char* read_feature(const char* at, const char* end, const Namespace& space, ExampleBlock& block) {
  std::uint32_t index = 0;
  at = read_name(at, end, space, index);
  if (at == nullptr) return nullptr;
  double value = 1;
  if (at != end && *at == ':') {
    at = read_number(at + 1, end, value);
    if (at == nullptr || !ends_feature(at, end)) return nullptr;
  }
  const auto scaled = static_cast<float>(value * space.scale);
  if (!std::isfinite(scaled)) return nullptr;
  block.index.push_back(index);
  block.value.push_back(scaled);
  return at;
}

}  // namespace

std::string VwTextParser::parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const {
  const char* const end = line.data() + line.size();
  const char* at = skip_blanks(line.data(), end);
  if (at == end) return "";
  const char* const bar = std::find(at, end, '|');
  if (bar == end) return is_not(line, "an example, which has a bar '|' before its features");

  Label label;
  std::string fault = read_label(at, bar, label);
  if (!fault.empty()) return fault;
  at = bar;
  while (at != end) {
    Namespace space;
    const char* word = at + 1;
    at = read_namespace(word, end, space);
    if (at == nullptr) return is_not(feature_at(word, end), "NAME or NAME:SCALE of a namespace, with a finite scale");
    for (at = skip_blanks(at, end); at != end && *at != '|'; at = skip_blanks(at, end)) {
      word = at;
      at = read_feature(word, end, space, block);
      if (at == nullptr) return is_not(feature_at(word, end), "NAME or NAME:VALUE of a feature, with a finite value");
    }
  }
  block.finish(label.target, label.importance, number);
  return "";
}

}  // namespace ignd
