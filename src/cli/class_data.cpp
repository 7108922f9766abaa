#include "cli/class_data.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/baselines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

class ClassData final : public TrainingData {
 public:
  explicit ClassData(ClassDataParts parts) : parts_(std::move(parts)) {}

  const Dataset& task() const override { return *parts_.task; }
  std::string samples() const override { return parts_.samples; }
  void print_warnings() const override;
  std::uint64_t size() const override { return parts_.task->size(); }
  std::vector<std::string> details() const override { return parts_.details; }
  std::string inputs() const override { return parts_.shape.text(); }
  void describe(JsonLine& line) const override;
  std::vector<Predictor> baselines() const override;
  RaceSize race_size() const override;
  std::optional<Shape> measured_shape() const override { return parts_.shape; }

 private:
  ClassDataParts parts_;
};

void ClassData::print_warnings() const { warn_of_skipped(parts_.skipped); }

void ClassData::describe(JsonLine& line) const {
  std::vector<std::string> names;
  for (const SkippedFile& file : parts_.skipped) names.push_back(file.name);
  line.set(parts_.size_key, parts_.size_value);
  line.set("skipped", std::span<const std::string>(names));
}

// From the labels alone: an image is large.
std::vector<Predictor> ClassData::baselines() const {
  const double constant = best_constant_for_logistic([&](const RowVisitor& visit) {
    for (const std::uint32_t row : task().split().train) visit({}, task().target_in_units(row), 1);
  });
  return {{"best constant", [constant](const Input<float>&, std::span<double> outputs) { outputs[0] = constant; }}};
}

// A step may take long: all rates together are given less than half an epoch.
TrainingData::RaceSize ClassData::race_size() const {
  constexpr std::uint64_t least = 200;
  const std::uint64_t some = std::max<std::uint64_t>(task().split().train.size() / 10, least);
  return {.samples = some, .judged = some};
}

}  // namespace

void warn_of_skipped(std::span<const SkippedFile> files) {
  if (files.empty()) return;
  std::vector<std::string> faults;
  for (const SkippedFile& file : files) faults.push_back(file.fault);
  print_error("ignd: warning: {} file{} left out: {}\n", faults.size(), faults.size() == 1 ? " is" : "s are",
              list_faults(faults));
}

std::unique_ptr<TrainingData> make_class_data(ClassDataParts parts) {
  return std::make_unique<ClassData>(std::move(parts));
}

void check_class_options(const TrainOptions& options, const std::string& what) {
  const std::string& loss = options.spec.dataset.loss;
  if (loss.empty() || make_vector_loss(loss)->link() == Link::logit) return;
  throw InvalidArgument(fmt::format("--loss {} cannot be given for {}: they have two classes, and the loss is logistic",
                                    printable(loss), what));
}

}  // namespace ignd::cli
