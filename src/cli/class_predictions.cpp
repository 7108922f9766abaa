#include "cli/class_predictions.hpp"

#include "cli/output.hpp"
#include "cli/prediction_writer.hpp"
#include "core/atomic_file.hpp"

#include <iterator>

#include <fmt/format.h>

namespace ignd::cli {

ClassPredictions::ClassPredictions(const TrainedModel& model, const std::string& named)
    : model_(model), text_(named + ",prediction,probability\n") {}

void ClassPredictions::add(const std::string& name, double output) {
  fmt::format_to(std::back_inserter(text_), "{},{},{:.9g}\n", as_field(name),
                 as_field(model_.target.classes[output >= 0 ? 1 : 0]), model_.prediction(output));
}

void ClassPredictions::write(const std::string& path) const {
  if (path.empty()) {
    print("{}", text_);
  } else {
    write_file_atomically(path, text_);
  }
}

}  // namespace ignd::cli
