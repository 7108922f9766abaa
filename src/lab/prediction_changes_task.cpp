#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "ignd/random.hpp"
#include "ignd/trainer.hpp"
#include "lab/task.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;

// Rows of the paper's table 1, in the order of the setting `formula`.
enum class Formula { gradient, normalized, polyak, undamped, damped, nlms, relative };

// What a row of the table states for the rate 1, with the library's default constants.
double stated_change(Formula formula, const LossAt& l, double excess, double s, double curvature_floor) {
  switch (formula) {
    case Formula::gradient:
      return -l.d1 * s;
    case Formula::normalized:
      return -l.d1 * s / (std::abs(l.d1) * std::sqrt(s) + 1e-8);
    case Formula::polyak:
      return -excess / (0.5 * l.d1);
    case Formula::undamped:
      return -l.d1 / l.d2;
    case Formula::damped:
      return -l.d1 * s / ((l.d2 + curvature_floor) * s + 1e-5);
    case Formula::nlms:
      return -l.d1;
    case Formula::relative:  // the first sample is the usual one
      return -l.d1 / (2 * (l.d2 + curvature_floor));
  }
  return 0;
}

// A model of random weights with a random input. Scaling the features by phi and the weights that multiply them by 1 /
// phi leaves the prediction, and scales the sensitivity.
struct Draw {
  std::unique_ptr<Model<double>> model;
  std::vector<double> x;
};

Draw one_hot(RandomStream& stream, double phi) {
  constexpr std::size_t features = 8;
  auto model = std::make_unique<Linear<double>>(features, false);
  for (double& w : model->parameters()) w = stream.normal() / phi;
  std::vector<double> x(features);
  x[stream.below(features)] = phi;
  return {std::move(model), std::move(x)};
}

Draw network(RandomStream& stream, double phi) {
  constexpr std::size_t features = 4, width = 8;
  auto model = std::make_unique<Mlp<double>>(std::vector<std::size_t>{features, width},
                                             MlpOptions{.activation = Activation::tanh, .seed = stream.bits32()});
  for (double& w : model->parameters().first(features * width)) w /= phi;
  std::vector<double> x(features);
  for (double& value : x) value = phi * stream.normal();
  return {std::move(model), std::move(x)};
}

double draw_target(const Loss& loss, RandomStream& stream) {
  switch (loss.link()) {
    case Link::logit:
      return static_cast<double>(stream.below(2));
    case Link::log:
      return static_cast<double>(stream.below(6));
    default:
      return 2 * stream.normal();
  }
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class PredictionChangesTask final : public Task {
 public:
  std::string name() const override { return "prediction-changes"; }
  std::string meaning() const override {
    return "The change h = j^T dw of a prediction in one step of rate 1, measured on random models and samples whose "
           "features are scaled by phi, from 1e-3 to 1e3. The score is the mean of |h| at phi = 1; the curve is that "
           "mean against the logarithm of phi.";
  }
  std::span<const SettingKey> keys() const override {
    static const std::vector<SettingKey> keys{
        {"formula",
         Kind::word,
         "gradient",
         0,
         0,
         {"gradient", "normalized", "polyak", "undamped", "damped", "nlms", "relative"},
         "row of the paper's table that states h; relative goes beyond it"},
        {"loss", Kind::word, "squared", 0, 0, {}, "of one output"},
        {"features",
         Kind::word,
         "one-hot",
         0,
         0,
         {"one-hot", "network"},
         "of a linear model, one of eight at a time; or four normal ones of a network with eight tanh units"},
        {"draws", Kind::count, "200", 1, 1e6, {}, "models and samples at each phi"},
    };
    return keys;
  }
  std::vector<Column> columns() const override {
    return {{"small", "mean of |h| at phi = 1e-3"},
            {"large", "mean of |h| at phi = 1e3"},
            {"difference", "largest relative difference of h from the formula, over all draws"}};
  }
  std::vector<std::string> faults(const Settings& settings) const override {
    try {
      make_loss(settings.word("loss"));
      return {};
    } catch (const InvalidArgument& fault) {
      return {fault.what()};
    }
  }
  double cost(const RunConfig& config) const override {
    constexpr double draw_seconds = 5e-5;
    return draw_seconds * static_cast<double>(config.settings.count("draws"));
  }
  RunResult run(const RunConfig& config, const RunControl& control) const override;
};

RunResult PredictionChangesTask::run(const RunConfig& config, const RunControl& control) const {
  const Settings& settings = config.settings;
  const auto loss = make_loss(settings.word("loss"));
  const auto& formulas = keys()[0].choices;
  const auto formula = static_cast<Formula>(std::ranges::find(formulas, settings.word("formula")) - formulas.begin());
  const bool linear = settings.word("features") == keys()[2].default_value;
  RunResult result;
  double difference = 0;
  constexpr int halves = 6;  // half decades on either side of 1
  for (int half = -halves; half <= halves; ++half) {
    const double exponent = half / 2.0, phi = std::pow(10, exponent);
    // The same models and samples at each phi, but for the scale.
    RandomStream stream(config.seed, "prediction changes");
    std::vector<double> sizes;
    for (std::uint64_t draw = 0; draw < settings.count("draws"); ++draw) {
      if (control.stop()) throw Stopped();
      const Draw drawn = linear ? one_hot(stream, phi) : network(stream, phi);
      const double y = draw_target(*loss, stream);
      Trainer<double> trainer(
          *drawn.model, {.loss = loss, .optimizer = config.optimizer, .schedule = Schedule::constant(config.rate)});
      const StepInfo info = trainer.step({{drawn.x}, y});
      if (info.status != StepStatus::learned) {
        result.status = RunStatus::diverged;
        result.failed_at = draw + 1;
        return result;
      }
      const double excess = info.loss.value - loss->minimum(y);
      const double stated =
          config.rate * stated_change(formula, info.loss, excess, info.sensitivity, loss->curvature_floor());
      sizes.push_back(std::abs(info.h));
      difference = std::max(difference, std::abs(info.h - stated) / std::max(std::abs(stated), 1e-300));
    }
    result.x.push_back(exponent);
    result.y.push_back(mean(sizes));
  }
  result.score = result.y[halves];
  result.extras = {{"small", result.y.front()}, {"large", result.y.back()}, {"difference", difference}};
  return result;
}

}  // namespace

const Task& prediction_changes_task() {
  static const PredictionChangesTask task;
  return task;
}

}  // namespace ignd
