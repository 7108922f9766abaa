#include "cli/use_model.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <span>

#include <fmt/format.h>

namespace ignd::cli {

NewData new_data(const UseOptions& options, const TrainedModel& model) {
  const bool of_texts = model.kind() == ModelKind::texts;
  if (of_texts) options.given.refuse({"weight"}, "cannot be given for texts");
  if (!model.reads_table(options.spec.data)) {
    options.given.refuse({"format", "delimiter", "header", "decimal", "weight", "keep", "bad-rows"},
                         fmt::format("cannot be given for {}", of_texts ? "files of text" : model.samples()));
  } else if (of_texts) {
    options.given.refuse({"keep", "bad-rows"},
                         "cannot be given for a model of texts; join its predictions by their row");
  }
  const DatasetOptions& rows = options.spec.dataset;
  return {.file = options.spec.data, .keep = options.keep, .weight = rows.weight, .skip_bad_rows = rows.skip_bad_rows};
}

PredictionColumns::PredictionColumns(const Target& target) : classes_(target.classes) {
  for (const std::string& name : classes_) fields_.push_back(csv_bytes(name));
}

std::string PredictionColumns::header() const {
  if (classes_.empty()) return ",prediction";
  if (classes_.size() == 2) return ",prediction,probability";
  std::string header = ",prediction";
  for (const std::string& name : classes_) header += "," + csv_bytes("probability_" + name);
  return header;
}

void PredictionColumns::append(std::string& line, const Prediction& prediction) const {
  if (classes_.empty()) {
    line += "," + format_number(prediction.value);
    return;
  }
  line += "," + fields_[static_cast<std::size_t>(prediction.value)];
  const auto probabilities = std::span(prediction.probabilities);
  for (const double probability : probabilities.subspan(probabilities.size() == 2 ? 1 : 0)) {
    line += "," + format_number(probability);
  }
}

void PredictionColumns::append_nothing(std::string& line) const {
  line.append(classes_.empty() ? 1 : classes_.size() == 2 ? 2 : classes_.size() + 1, ',');
}

}  // namespace ignd::cli
