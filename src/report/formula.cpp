#include "report/formula.hpp"

#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Level = FormulaPart::Level;
using Sign = std::pair<std::string_view, std::string_view>;

constexpr std::array<Sign, 26> greek{
    {{"alpha", "α"}, {"beta", "β"},   {"gamma", "γ"}, {"delta", "δ"},  {"eps", "ε"},  {"epsilon", "ε"}, {"zeta", "ζ"},
     {"eta", "η"},   {"theta", "θ"},  {"kappa", "κ"}, {"lambda", "λ"}, {"mu", "μ"},   {"nu", "ν"},      {"xi", "ξ"},
     {"pi", "π"},    {"rho", "ρ"},    {"sigma", "σ"}, {"tau", "τ"},    {"phi", "φ"},  {"chi", "χ"},     {"psi", "ψ"},
     {"omega", "ω"}, {"Lambda", "Λ"}, {"Sigma", "Σ"}, {"Phi", "Φ"},    {"Omega", "Ω"}}};

constexpr std::array<Sign, 5> operators{{{"||", "‖"}, {"<=", "≤"}, {">=", "≥"}, {"!=", "≠"}, {"+-", "±"}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }

class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  std::vector<FormulaPart> read() {
    while (at_ < text_.size()) {
      if (!read_base()) {
        add(text_.substr(at_, 1));
        ++at_;
      }
    }
    return std::move(parts_);
  }

 private:
  char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  void add(std::string_view text, Level level = Level::line, bool is_symbol = false) {
    if (!is_symbol && level == Level::line && !parts_.empty() && parts_.back().level == level &&
        !parts_.back().is_symbol) {
      parts_.back().text += text;
    } else {
      parts_.push_back({std::string(text), level, is_symbol});
    }
  }

  // Whether a word of this end is one by itself, and not a part of a name such as "gamma-ray" or "log_alpha".
  bool stands_alone(std::size_t end) const {
    const auto joins = [&](std::size_t hyphen, std::size_t beyond) {
      return (at(hyphen) == '-' || at(hyphen) == '.') && is_word(at(beyond));
    };
    if (at_ > 0 && (is_word(at(at_ - 1)) || (at_ > 1 && joins(at_ - 1, at_ - 2)))) return false;
    return !joins(end, end + 1);
  }

  // A variable, number, bracket or operator, with what is below and above it.
  bool read_base() {
    for (const auto& [text, sign] : operators) {
      if (!text_.substr(at_).starts_with(text)) continue;
      at_ += text.size();
      add(sign);
      read_scripts(false);
      return true;
    }
    if (is_digit(at(at_))) return read_number();
    if (is_word(at(at_))) return read_word();
    const char c = at(at_);
    if (c != ')' && c != ']' && c != '|' && c != '}') return false;
    add(text_.substr(at_, 1));
    ++at_;
    read_scripts(false);
    return true;
  }

  bool read_number() {
    const std::size_t start = at_;
    while (is_digit(at(at_))) ++at_;
    add(text_.substr(start, at_ - start));
    const bool alone = start == 0 || !is_word(at(start - 1));
    if (alone && !is_letter(at(at_))) read_scripts(false);
    return true;
  }

  bool read_word() {
    std::size_t end = at_;
    while (is_letter(at(end))) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const auto* letter = std::ranges::find(greek, word, &Sign::first);
    const bool is_greek = letter != greek.end() && !is_digit(at(end));
    const bool has_scripts = at(end) == '_' || at(end) == '^' || at(end) == '*';
    const bool is_variable = word.size() == 1 && has_scripts;
    if (word.empty() || !stands_alone(end)) {
      skip_word();
    } else if (word == "log" && text_.substr(end, 2) == "10" && !is_word(at(end + 2))) {
      at_ = end + 2;
      add("log");
      add("10", Level::low);
    } else if (is_greek || is_variable) {
      const std::size_t start = at_;
      at_ = end;
      add(is_greek ? letter->second : word, Level::line, true);
      if (!read_scripts(true) && (!is_greek || is_word(at(at_)))) {  // "x_train" is a name
        parts_.pop_back();
        at_ = start;
        skip_word();
      }
    } else {
      skip_word();
    }
    return true;
  }

  void skip_word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(at(at_))) ++at_;
    at_ = std::max(at_, start + 1);
    add(text_.substr(start, at_ - start));
  }

  bool read_scripts(bool behind_variable) {
    bool found = false;
    while (true) {
      const bool low = behind_variable && at(at_) == '_';
      const bool star = behind_variable && at(at_) == '*' && !is_word(at(at_ + 1)) && at(at_ + 1) != '*';
      if (star) {
        ++at_;
        add("*", Level::high);
      } else if (low || at(at_) == '^') {
        const auto script = low ? subscript(at_ + 1) : superscript(at_ + 1);
        if (!script) return found;
        add(script->first, low ? Level::low : Level::high);
        at_ = script->second;
      } else {
        return found;
      }
      found = true;
    }
  }

  using Script = std::optional<std::pair<std::string, std::size_t>>;  // its text, and where the rest begins

  // What is between brackets that open at a place; `most` characters.
  Script bracketed(std::size_t start, char open, char close) const {
    constexpr std::size_t most = 24;
    std::size_t depth = 0;
    for (std::size_t end = start; end < std::min(start + most, text_.size()); ++end) {
      if (at(end) == open) ++depth;
      if (at(end) == close && --depth == 0) return {{std::string(text_.substr(start + 1, end - start - 1)), end + 1}};
    }
    return {};
  }

  Script subscript(std::size_t start) const {
    if (at(start) == '{') return bracketed(start, '{', '}');
    std::size_t end = start;
    while (is_letter(at(end)) || is_digit(at(end))) ++end;
    if (end == start || end > start + 3 || is_word(at(end))) return {};
    return {{std::string(text_.substr(start, end - start)), end}};
  }

  Script superscript(std::size_t start) const {
    if (at(start) == '{') return bracketed(start, '{', '}');
    if (at(start) == '(') return bracketed(start, '(', ')');
    std::size_t end = start;
    if (at(end) == '-' || at(end) == '+') ++end;
    if (is_digit(at(end))) {
      while (is_digit(at(end)) || (at(end) == '.' && is_digit(at(end + 1)))) ++end;
    } else if (is_letter(at(end)) && !is_word(at(end + 1))) {
      ++end;
      if (at(end) == '(') {
        if (const Script argument = bracketed(end, '(', ')')) end = argument->second;
      }
    } else if (at(end) == '*') {
      ++end;
    } else {
      return {};
    }
    if (is_word(at(end))) return {};
    std::string text(text_.substr(start, end - start));
    for (std::size_t minus = 0; (minus = text.find('-', minus)) != std::string::npos;) text.replace(minus, 1, "−");
    return {{std::move(text), end}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<FormulaPart> parts_;
};

constexpr std::array<Sign, 18> superscripts{{{"0", "⁰"},
                                             {"1", "¹"},
                                             {"2", "²"},
                                             {"3", "³"},
                                             {"4", "⁴"},
                                             {"5", "⁵"},
                                             {"6", "⁶"},
                                             {"7", "⁷"},
                                             {"8", "⁸"},
                                             {"9", "⁹"},
                                             {"+", "⁺"},
                                             {"−", "⁻"},
                                             {"n", "ⁿ"},
                                             {"i", "ⁱ"},
                                             {"T", "ᵀ"},
                                             {"t", "ᵗ"},
                                             {"k", "ᵏ"},
                                             {"*", "*"}}};
constexpr std::array<Sign, 18> subscripts{{{"0", "₀"},
                                           {"1", "₁"},
                                           {"2", "₂"},
                                           {"3", "₃"},
                                           {"4", "₄"},
                                           {"5", "₅"},
                                           {"6", "₆"},
                                           {"7", "₇"},
                                           {"8", "₈"},
                                           {"9", "₉"},
                                           {"a", "ₐ"},
                                           {"e", "ₑ"},
                                           {"i", "ᵢ"},
                                           {"j", "ⱼ"},
                                           {"n", "ₙ"},
                                           {"o", "ₒ"},
                                           {"t", "ₜ"},
                                           {"x", "ₓ"}}};

// With Unicode's small characters where there is one for each; otherwise as it was written.
std::string small(const FormulaPart& part) {
  const auto& signs = part.level == Level::high ? superscripts : subscripts;
  std::string out;
  for (std::string_view rest = part.text; !rest.empty();) {
    const auto* sign = std::ranges::find_if(signs, [&](const Sign& entry) { return rest.starts_with(entry.first); });
    if (sign == signs.end()) {
      const bool long_one = part.text.find_first_of(" ,(") != std::string::npos;
      return fmt::format("{}{}{}{}", part.level == Level::high ? '^' : '_', long_one ? "(" : "", part.text,
                         long_one ? ")" : "");
    }
    out += sign->second;
    rest.remove_prefix(sign->first.size());
  }
  return out;
}

}  // namespace

std::vector<FormulaPart> split_formulas(std::string_view text) { return FormulaReader(text).read(); }

std::string html_formulas(std::string_view text) {
  const std::string clean = clean_text(text);
  std::string html;
  for (const FormulaPart& part : split_formulas(clean)) {
    const std::string_view tag = part.level == Level::low    ? "sub"
                                 : part.level == Level::high ? "sup"
                                 : part.is_symbol            ? "i"
                                                             : "";
    html += tag.empty() ? html_text(part.text) : fmt::format("<{0}>{1}</{0}>", tag, html_text(part.text));
  }
  return html;
}

std::string plain_formulas(std::string_view text) {
  const std::string clean = clean_text(text);
  std::string out;
  for (const FormulaPart& part : split_formulas(clean)) out += part.level == Level::line ? part.text : small(part);
  return out;
}

}  // namespace ignd
