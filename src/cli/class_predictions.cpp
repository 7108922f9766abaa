#include "cli/class_predictions.hpp"

#include "base/atomic_file.hpp"
#include "cli/output.hpp"
#include "report/format.hpp"

namespace ignd::cli {

ClassPredictions::ClassPredictions(const TrainedModel& model, const std::string& named)
    : columns_(model.target), text_(named + columns_.header() + "\n") {}

void ClassPredictions::add(const std::string& name, double output) {
  text_ += csv_bytes(name);
  columns_.append(text_, {&output, 1});
  text_ += '\n';
}

void ClassPredictions::write(const std::string& path) const {
  if (path.empty()) {
    print_data(text_);
  } else {
    write_file_atomically(path, text_);
  }
}

}  // namespace ignd::cli
