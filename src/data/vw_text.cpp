#include "data/vw_text.hpp"

#include "data/row_text.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

// A name is a few bytes long: a call would take as long as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ignd {
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

// What stands before the first bar. Returns what is wrong with it, or "".
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
      return is_not(word, "a finite number; before the bar are label, importance, base and 'TAG");
    }
    ++count;
    at = behind;
  }
#if IGND_PLANTED_BUG != 2
  if (numbers[1] < 0) return fmt::format("the importance {} is negative", numbers[1]);
#endif
  if (numbers[2] != 0) return fmt::format("the base prediction is {}, but only 0 can be used", numbers[2]);
  label = {numbers[0], numbers[1]};
  return "";
}

// What touches the bar. Returns where it ends, or null.
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

// Returns behind the feature that starts at `at` and appends it, or null.
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
