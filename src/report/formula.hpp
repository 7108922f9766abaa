#pragma once

#include <string>
#include <string_view>
#include <vector>

// The simple formulas that texts of experiments contain, such as "eps_LM = 10^-5", "h = j^T dw" or "||j||^2".
namespace ignd {

struct FormulaPart {
  enum class Level { line, low, high };
  std::string text;
  Level level = Level::line;
  bool is_symbol = false;  // a variable, to be set in italics
};

// Splits clean text into parts. Greek letters are recognised by their names, subscripts and superscripts behind a
// variable, a number or a closing bracket; everything else, such as "frozen_lake" or "a^", stays as it is.
std::vector<FormulaPart> split_formulas(std::string_view text);

// For pages: escaped, with <sub>, <sup> and <i>.
std::string html_formulas(std::string_view text);

// For drawings and labels: one line of Unicode, "ε_LM = 10⁻⁵".
std::string plain_formulas(std::string_view text);

}  // namespace ignd
