#include "cli/class_columns.hpp"

#include "base/text.hpp"
#include "learn/softmax.hpp"
#include "report/format.hpp"

#include <fmt/format.h>

namespace ignd::cli {

ClassColumns::ClassColumns(const Target& target) : names_(target.classes), probabilities_(target.classes.size()) {
  for (const std::string& name : names_) fields_.push_back(csv_bytes(name));
}

std::string ClassColumns::header() const {
  std::string header = ",prediction";
  if (names_.size() <= 2) return header + ",probability";
  for (const std::string& name : names_) header += "," + csv_bytes("probability_" + name);
  return header;
}

void ClassColumns::append(std::string& line, std::span<const double> outputs) {
  if (outputs.size() == 1) {
    const double logit = outputs[0];
    line += fmt::format(",{},{}", fields_[logit >= 0 ? 1 : 0], format_number(sigmoid(logit)));
    return;
  }
  softmax_probabilities(outputs, probabilities_);
  line += "," + fields_[most_probable(outputs)];
  for (const double probability : probabilities_) line += "," + format_number(probability);
}

}  // namespace ignd::cli
