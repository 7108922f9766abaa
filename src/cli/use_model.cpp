#include "cli/use_model.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

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

AskedIntervals asked_intervals(const UseOptions& options, const TrainedModel& model) {
  if (!options.interval) return {};
  const AskedIntervals asked{&model.intervals(), *options.interval / 100};
  asked.intervals->at(0, asked.level);
  return asked;
}

}  // namespace ignd::cli
