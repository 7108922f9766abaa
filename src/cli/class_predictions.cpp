#include "cli/class_predictions.hpp"

#include "cli/output.hpp"
#include "cli/prediction_writer.hpp"
#include "core/atomic_file.hpp"

namespace ignd::cli {

ClassPredictions::ClassPredictions(const TrainedModel& model, const std::string& named)
    : columns_(model.target), text_(named + columns_.header() + "\n") {}

void ClassPredictions::add(const std::string& name, double output) {
  text_ += as_field(name);
  columns_.append(text_, {&output, 1});
  text_ += '\n';
}

void ClassPredictions::write(const std::string& path) const {
  if (path.empty()) {
    print("{}", text_);
  } else {
    write_file_atomically(path, text_);
  }
}

}  // namespace ignd::cli
