#include "lab/tabular_run.hpp"

#include "base/text.hpp"
#include "ignd/ignd.hpp"
#include "learn/baselines.hpp"
#include "learn/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace ignd {
namespace {

// Whether a run has failed is decided by the validation rows: a failed run keeps its rate from being chosen.
constexpr double most_loss = 1000;     // times that of the mean of the targets, and of the start: a run has diverged
constexpr double least_spread = 1e-6;  // of the targets' deviation: below it, a run has collapsed

using Clock = std::chrono::steady_clock;
using Predict = std::function<double(std::span<const float>)>;

struct Moments {
  double mean = 0, variance = 0;
};

template <class Value>
Moments moments_of(std::size_t count, const Value& value) {
  Moments moments;
  for (std::size_t i = 0; i < count; ++i) moments.mean += value(i) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    moments.variance += std::pow(value(i) - moments.mean, 2) / static_cast<double>(count);
  }
  return moments;
}

Moments target_moments(const Samples<float>& rows) {
  return moments_of(rows.size(), [&](std::size_t i) { return rows[i].y; });
}

double mape_of(const Samples<float>& rows, const std::vector<double>& outputs) {
  MapeSum sum;
  for (std::size_t i = 0; i < rows.size(); ++i) sum.add(rows[i].y, outputs[i]);
  return sum.mean();
}

double mape_of(const Samples<float>& rows, const Predict& predict) {
  MapeSum sum;
  for (std::size_t i = 0; i < rows.size(); ++i) sum.add(rows[i].y, predict(rows[i].x.values));
  return sum.mean();
}

double mean_squared_error(const Samples<float>& rows, const std::vector<double>& outputs) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::pow(rows[i].y - outputs[i], 2);
  return sum / static_cast<double>(rows.size());
}

std::vector<std::size_t> widths_of(const RunConfig& config, std::size_t features) {
  std::vector<std::size_t> widths{features};
  for (const std::uint64_t width : parse_widths(config.settings.word("hidden"))) widths.push_back(width);
  return widths;
}

// Learns rows in a given order, one at a time or in batches.
class RowLearner {
 public:
  virtual ~RowLearner() = default;
  virtual void learn_rows(const Samples<float>& rows, std::span<const std::uint32_t> order) = 0;
  virtual std::uint64_t learned() const = 0;  // rows
  virtual StepStatus status() const = 0;
  virtual std::unique_ptr<Model<float>> snapshot() const = 0;
};

class RowByRow final : public RowLearner {
 public:
  RowByRow(Model<float>& model, const Optimizer& optimizer, const Schedule& schedule)
      : trainer_(model, {.optimizer = optimizer, .schedule = schedule}) {}

  void learn_rows(const Samples<float>& rows, std::span<const std::uint32_t> order) override {
    learn(trainer_, rows, order);
  }
  std::uint64_t learned() const override { return trainer_.steps(); }
  StepStatus status() const override { return trainer_.status(); }
  std::unique_ptr<Model<float>> snapshot() const override { return trainer_.snapshot(); }

 private:
  Trainer<float> trainer_;
};

// What is left of a part of the order is a smaller batch.
class BatchByBatch final : public RowLearner {
 public:
  BatchByBatch(Model<float>& model, const Optimizer& optimizer, const Schedule& schedule, const BatchOptions& batch)
      : trainer_(model, {.optimizer = optimizer, .schedule = schedule, .batch = batch}), size_(batch.size) {
    samples_.reserve(size_);
  }

  void learn_rows(const Samples<float>& rows, std::span<const std::uint32_t> order) override {
    while (!order.empty() && trainer_.status() == StepStatus::learned) {
      samples_.clear();
      const std::size_t count = std::min(size_, order.size());
      for (const std::uint32_t row : order.first(count)) samples_.push_back(rows[row]);
      if (!learns()) return;
      learned_ += count;
      order = order.subspan(count);
    }
  }
  std::uint64_t learned() const override { return learned_; }
  StepStatus status() const override { return singular_ ? StepStatus::coefficient_not_finite : trainer_.status(); }
  std::unique_ptr<Model<float>> snapshot() const override { return trainer_.snapshot(); }

 private:
  // A lambda that is too small for a batch has failed like a rate that diverges.
  bool learns() {
    try {
      return trainer_.step(samples_).status == StepStatus::learned;
    } catch (const SingularSystem&) {
      singular_ = true;
      return false;
    }
  }

  bool singular_ = false;
  BatchTrainer<float> trainer_;
  std::size_t size_;
  std::vector<Sample<float>> samples_;
  std::uint64_t learned_ = 0;
};

// An epoch is learned in parts, and looked at after each.
class NetworkRun {
 public:
  NetworkRun(const RunConfig& config, const TabularSplit& data)
      : data_(data),
        epochs_(config.settings.count("epochs")),
        parts_(config.settings.count("points")),
        timed_(config.settings.flag("timed")),
        model_(widths_of(config, data.train.features()),
               {.activation = Activation::relu, .initial = InitialWeights::lecun, .seed = config.seed}),
        learner_(make_learner(config)),
        orders_(config.seed, "order"),
        order_(data.train.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  RunResult run(const RunControl& control) {
    look();
    start_error_ = mean_squared_error(data_.validation, outputs_on(data_.validation));
    for (std::uint64_t epoch = 0; epoch < epochs_; ++epoch) {
      orders_.shuffle(order_);
      for (std::uint64_t part = 0; part < parts_; ++part) {
        if (control.stop()) throw RunStopped();
        control.set_share(static_cast<double>(epoch * parts_ + part) / static_cast<double>(epochs_ * parts_));
        const auto start = Clock::now();
        learner_->learn_rows(data_.train, part_of_order(part));
        seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        if (learner_->status() != StepStatus::learned) return failed(RunStatus::diverged);
        look();
      }
      if (const auto failure = failure_so_far()) return failed(*failure);
    }
    return finish();
  }

 private:
  std::unique_ptr<RowLearner> make_learner(const RunConfig& config) {
    const Settings& settings = config.settings;
    const std::size_t size = settings.count("batch");
    if (size == 0) return std::make_unique<RowByRow>(model_, config.optimizer, schedule_of(config, 1));
    const BatchMode mode = find_batch_mode(settings.word("batch-mode"));
    const BatchOptions batch{.size = size, .mode = mode, .lambda = settings.number("lambda")};
    return std::make_unique<BatchByBatch>(model_, config.optimizer, schedule_of(config, size), batch);
  }

  Schedule schedule_of(const RunConfig& config, std::size_t batch) const {
    if (config.settings.word("schedule") == "constant") return Schedule::constant(config.rate);
    std::uint64_t steps = 0;
    for (std::uint64_t part = 0; part < parts_; ++part) {
      steps += (part_start(part + 1) - part_start(part) + batch - 1) / batch;
    }
    return Schedule::cosine(config.rate, epochs_ * steps);
  }

  std::size_t part_start(std::uint64_t part) const { return data_.train.size() * part / parts_; }

  std::span<const std::uint32_t> part_of_order(std::uint64_t part) const {
    return std::span(order_).subspan(part_start(part), part_start(part + 1) - part_start(part));
  }

  std::vector<double> outputs_on(const Samples<float>& rows) const {
    const auto model = learner_->snapshot();
    Trace<float> trace(*model);
    std::vector<double> outputs(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) outputs[i] = model->predict(rows[i].x, trace);
    return outputs;
  }

  // A point of the curve.
  void look() {
    result_.x.push_back(static_cast<double>(learner_->learned()) / static_cast<double>(data_.train.size()));
    result_.y.push_back(mape_of(data_.test, outputs_on(data_.test)));
  }

  std::optional<RunStatus> failure_so_far() const {
    const auto outputs = outputs_on(data_.validation);
    const double variance = target_moments(data_.validation).variance;
    const double error = mean_squared_error(data_.validation, outputs);
    if (!(error <= most_loss * std::max(variance, start_error_))) return RunStatus::diverged;
    const Moments spread = moments_of(outputs.size(), [&](std::size_t i) { return outputs[i]; });
    if (spread.variance < std::pow(least_spread, 2) * variance) return RunStatus::collapsed;
    return std::nullopt;
  }

  RunResult failed(RunStatus status) {
    result_.status = status;
    result_.failed_at = learner_->learned();
    return std::move(result_);
  }

  RunResult finish() {
    result_.score = mape_of(data_.test, outputs_on(data_.test));
    result_.validation = mape_of(data_.validation, outputs_on(data_.validation));
    if (timed_) result_.extras = {{seconds_column, seconds_ / static_cast<double>(epochs_)}};
    return std::move(result_);
  }

  const TabularSplit& data_;
  std::uint64_t epochs_, parts_;
  bool timed_;
  double seconds_ = 0;  // spent learning
  Mlp<float> model_;
  std::unique_ptr<RowLearner> learner_;
  RandomStream orders_;
  std::vector<std::uint32_t> order_;
  double start_error_ = 0;  // on the validation rows
  RunResult result_;
};

RunResult judged(const TabularSplit& data, const Predict& predict) {
  RunResult result;
  result.score = mape_of(data.test, predict);
  result.validation = mape_of(data.validation, predict);
  return result;
}

}  // namespace

std::vector<std::uint64_t> parse_widths(std::string_view text) {
  std::vector<std::uint64_t> widths;
  for (const std::string_view width : split(text, ',')) {
    widths.push_back(parse_count(width, "the width of a layer"));
    if (widths.back() == 0) throw InvalidArgument("the width of a layer is 0");
  }
  return widths;
}

RunResult run_network(const RunConfig& config, const TabularSplit& data, const RunControl& control) {
  return NetworkRun(config, data).run(control);
}

RunResult run_mean_of_targets(const TabularSplit& data) {
  const double mean = target_moments(data.train).mean;
  return judged(data, [mean](std::span<const float>) { return mean; });
}

RunResult run_least_squares(const TabularSplit& data) {
  const auto rows = [&](const RowVisitor& visit) {
    for (std::size_t i = 0; i < data.train.size(); ++i) visit(data.train[i].x.values, data.train[i].y, 1);
  };
  return judged(data, least_squares(rows, data.train.features(), {.validation = {}, .ridges = {0}}).value());
}

}  // namespace ignd
