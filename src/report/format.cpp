#include "report/format.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The length in bytes of the first character; 0 if it is not valid UTF-8 or not allowed in XML.
std::size_t character_length(std::string_view text) {
  const Utf8Character found = character_at(text);
  const bool for_xml = !text.starts_with("\xEF\xBF\xBE") && !text.starts_with("\xEF\xBF\xBF");
  return found.whole && for_xml ? found.size : 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

using Replacement = std::pair<std::string_view, std::string_view>;

template <std::size_t n>
std::string replaced(std::string_view text, const std::array<Replacement, n>& table) {
  const std::string clean = clean_text(text);
  std::string out;
  for (std::string_view rest = clean; !rest.empty();) {
    const std::string_view character = rest.substr(0, character_length(rest));
    const auto* found =
        std::find_if(table.begin(), table.end(), [&](const Replacement& entry) { return entry.first == character; });
    out += found != table.end() ? found->second : character;
    rest.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) {
      out += replacement;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, length);
    out += is_control(character) ? " " : character;
    text.remove_prefix(length);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  const std::string clean = clean_text(text);
  std::size_t at = 0;
  std::size_t characters = 0;
  std::size_t cut = 0;
  while (at < clean.size()) {
    if (++characters == most) cut = at;
    at += character_length(std::string_view(clean).substr(at));
  }
  return characters <= most ? clean : clean.substr(0, cut) + "…";
}

std::string html_text(std::string_view text) {
  static constexpr std::array<Replacement, 5> table{
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}}};
  return replaced(text, table);
}

std::string latex_text(std::string_view text) {
  static constexpr std::array<Replacement, 23> table{{{"\\", "\\textbackslash{}"},
                                                      {"&", "\\&"},
                                                      {"%", "\\%"},
                                                      {"$", "\\$"},
                                                      {"#", "\\#"},
                                                      {"_", "\\_"},
                                                      {"{", "\\{"},
                                                      {"}", "\\}"},
                                                      {"~", "\\textasciitilde{}"},
                                                      {"^", "\\textasciicircum{}"},
                                                      {"<", "\\textless{}"},
                                                      {">", "\\textgreater{}"},
                                                      {"|", "\\textbar{}"},
                                                      {"\"", "''"},  // \\textquotedbl needs another font encoding
                                                      {"[", "{[}"},  // after a line break these would be its arguments
                                                      {"]", "{]}"},
                                                      {"*", "{*}"},
                                                      {replacement, "?"},
                                                      {"±", "$\\pm$"},
                                                      {"×", "$\\times$"},
                                                      {"÷", "$\\div$"},
                                                      {"−", "$-$"},
                                                      {"†", "$\\dagger$"}}};
  return replaced(text, table);
}

std::string markdown_text(std::string_view text) {
  static constexpr std::array<Replacement, 14> table{{{"\\", "\\\\"},
                                                      {"|", "\\|"},
                                                      {"`", "\\`"},
                                                      {"*", "\\*"},
                                                      {"_", "\\_"},
                                                      {"[", "\\["},
                                                      {"]", "\\]"},
                                                      {"#", "\\#"},
                                                      {"$", "\\$"},
                                                      {"~", "\\~"},
                                                      {"!", "\\!"},
                                                      {"<", "&lt;"},
                                                      {">", "&gt;"},
                                                      {"&", "&amp;"}}};
  return replaced(text, table);
}

std::string csv_field(std::string_view text) { return csv_bytes(clean_text(text)); }

std::string gnuplot_text(std::string_view text) {
  // In single quotes nothing but the quote itself means anything.
  static constexpr std::array<Replacement, 1> table{{{"'", "''"}}};
  return "'" + replaced(text, table) + "'";
}

std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  constexpr std::size_t longest = 80;  // the length of file names is limited
  if (out.size() > longest) out.resize(longest);
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unnamed" : out;
}

namespace {

// Of the first digit of a number: 0 for 3.2, -2 for 0.032.
int place_of(double value) { return static_cast<int>(std::floor(std::log10(value))); }

std::size_t decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos || number.find('e') != std::string::npos ? 0 : number.size() - point - 1;
}

}  // namespace

std::string without_zeros_in_exponent(std::string text) {
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  if (text[e + 1] == '+') text.erase(e + 1, 1);
  const std::size_t digits = e + (text[e + 1] == '-' ? 2 : 1);
  while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string number_text(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::string(not_available);
  return without_zeros_in_exponent(fmt::format("{:.4g}", *value));
}

std::string rate_text(double rate) {
  if (!std::isfinite(rate)) return std::string(not_available);
  return without_zeros_in_exponent(format_number(rate));
}

std::string with_spread(std::optional<double> mean, std::optional<double> deviation) {
  if (!mean || !deviation) return number_text(mean);
  const double scale = std::max(std::abs(*mean), *deviation);
  if (!std::isfinite(scale) || *deviation <= 0 || *deviation < 1e-6 * scale) {
    return number_text(mean) + " ± " + without_zeros_in_exponent(fmt::format("{:.2g}", *deviation));
  }
  const int exponent = scale < 1e-3 || scale >= 1e6 ? place_of(scale) : 0;
  // Two steps, since 10^324 is not a number.
  const double unit = std::pow(10.0, -exponent / 2);
  const double rest = std::pow(10.0, -exponent - (-exponent / 2));
  const double m = *mean * unit * rest;
  const double d = *deviation * unit * rest;
  const int decimals = std::max(0, 1 - place_of(d));
  std::string text = fmt::format("{:.{}f} ± {:.{}f}", m, decimals, d, decimals);
  const bool zero = text.find_first_of("123456789") > text.find(' ');
  if (zero && text[0] == '-') text.erase(0, 1);
  return exponent == 0 ? text : fmt::format("({})e{}", text, exponent);
}

std::string with_given_spread(double mean, std::optional<double> deviation) {
  std::string m = rate_text(mean);
  if (!deviation) return m;
  const std::string d = rate_text(*deviation);
  if (m.find('e') != std::string::npos || d.find('e') != std::string::npos) return m + " ± " + d;
  const std::size_t decimals = std::max(decimals_of(m), decimals_of(d));
  return fmt::format("{:.{}f} ± {:.{}f}", mean, decimals, *deviation, decimals);
}

std::string part_text(std::uint64_t done, std::uint64_t planned) {
  return planned == 0 ? "none" : fmt::format("{} of {}", done, planned);
}

std::string count_text(std::uint64_t done, std::uint64_t planned) {
  return done == planned ? std::to_string(done) : part_text(done, planned);
}

std::string seeds_text(std::vector<std::uint64_t> seeds) {
  std::ranges::sort(seeds);
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  std::string text;
  for (std::size_t first = 0; first < seeds.size();) {
    std::size_t last = first;
    while (last + 1 < seeds.size() && seeds[last + 1] == seeds[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(seeds[first]);
    if (last > first) text += fmt::format("{}{}", last > first + 1 ? " to " : ", ", seeds[last]);
    first = last + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace ignd
