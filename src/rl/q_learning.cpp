#include "rl/q_learning.hpp"

#include "ignd/error.hpp"
#include "ignd/transform.hpp"
#include "kernels/flush_to_zero.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

std::vector<double> checked_scales(std::vector<double> scales, std::size_t expected) {
  if (expected == 0) throw InvalidArgument("an environment needs at least one state and one action");
  if (scales.size() != expected) {
    throw InvalidArgument(fmt::format("there are {} scales, but the environment has {} pairs of state and action",
                                      scales.size(), expected));
  }
  return scales;
}

// One feature is active at a time, so that a sparse model touches one weight per step. But it brings drifting weights
// up to date only when it reads them, while values are read at any time: transforms that drift need a dense model.
std::unique_ptr<Model<double>> linear_model(std::size_t features, const Optimizer& optimizer) {
  if (make_transform<double>(optimizer.transform)->drifts()) return std::make_unique<Linear<double>>(features, false);
  const int bits = std::max(1, static_cast<int>(std::bit_width(features - 1)));
  return std::make_unique<HashedLinear<double>>(static_cast<unsigned>(bits), false);
}

}  // namespace

ActionValues::ActionValues(std::uint32_t actions, std::vector<double> scales, double initial,
                           const Optimizer& optimizer, double rate)
    : actions_(actions),
      scales_(std::move(scales)),
      features_(scales_.size()),
      model_(linear_model(scales_.size(), optimizer)),
      sparse_(!model_->row_tables().empty()),
      trainer_(*model_, {.optimizer = optimizer, .schedule = Schedule::constant(rate)}) {
  const auto usable = [](double scale) { return std::isfinite(scale) && scale != 0; };
  if (!std::all_of(scales_.begin(), scales_.end(), usable)) {
    throw InvalidArgument("a feature's scale must be a finite number other than 0");
  }
  std::transform(scales_.begin(), scales_.end(), model_->parameters().begin(),
                 [&](double scale) { return initial / scale; });
}

double ActionValues::value(std::uint32_t state, std::uint32_t action) const {
  const std::size_t feature = feature_of(state, action);
  return scales_[feature] * model_->parameters()[feature];
}

double ActionValues::best_value(std::uint32_t state) const {
  double best = value(state, 0);
  for (std::uint32_t action = 1; action < actions_; ++action) best = std::max(best, value(state, action));
  return best;
}

std::vector<std::uint32_t> ActionValues::best_actions(std::uint32_t state, double tolerance) const {
  std::vector<std::uint32_t> best;
  best_actions(state, tolerance, best);
  return best;
}

void ActionValues::best_actions(std::uint32_t state, double tolerance, std::vector<std::uint32_t>& best) const {
  const double largest = best_value(state);
  const double enough = largest - tolerance * std::abs(largest);
  best.clear();
  for (std::uint32_t action = 0; action < actions_; ++action) {
    if (value(state, action) >= enough) best.push_back(action);
  }
}

bool ActionValues::learn(std::uint32_t state, std::uint32_t action, double target) {
  if (!std::isfinite(target)) return false;
  const auto feature = static_cast<std::uint32_t>(feature_of(state, action));
  features_[feature] = scales_[feature];
  const Input<double> x = sparse_ ? Input<double>{{&scales_[feature], 1}, {&feature, 1}} : Input<double>{features_};
  const StepInfo info = trainer_.step({.x = x, .y = target});
  features_[feature] = 0;
  return info.status == StepStatus::learned && std::isfinite(value(state, action));
}

std::vector<double> equal_scales(std::size_t pairs) {
  std::vector<double> scales(pairs, 1.0);
  return scales;
}

std::vector<double> random_scales(std::size_t pairs, std::uint64_t draw) {
  constexpr std::uint64_t largest = 10'000;
  RandomStream stream(draw, "scales");
  std::vector<double> scales(pairs);
  for (double& scale : scales) {
    const std::uint64_t drawn = stream.below(2 * largest);
    const double size = static_cast<double>(drawn % largest + 1);
    scale = drawn < largest ? -size : size;
  }
  return scales;
}

QLearning::QLearning(DiscreteEnvironment& environment, std::vector<double> scales, const QLearningOptions& options,
                     std::uint64_t seed)
    : options_(options),
      values_(environment.actions(), checked_scales(std::move(scales), environment.pairs()), options.initial_value,
              options.optimizer, options.rate),
      environment_(environment),
      agent_(seed, "agent") {}

double QLearning::epsilon() const {
  if (episodes_ >= options_.epsilon_episodes) return options_.epsilon_to;
  const double way = static_cast<double>(episodes_) / static_cast<double>(options_.epsilon_episodes);
  return options_.epsilon_from + way * (options_.epsilon_to - options_.epsilon_from);
}

std::uint32_t QLearning::choose(std::uint32_t state, double epsilon) {
  if (agent_.uniform() >= epsilon) {
    values_.best_actions(state, options_.tie_tolerance, best_);
    if (best_.size() == 1) return best_[0];
    if (best_.size() > 1) return best_[agent_.below(best_.size())];
  }
  return static_cast<std::uint32_t>(agent_.below(environment_.actions()));
}

void QLearning::learn(std::uint32_t state, std::uint32_t action, const Outcome& outcome) {
  const double after = outcome.terminated ? 0 : options_.gamma * values_.best_value(outcome.state);
  if (!values_.learn(state, action, outcome.reward + after)) diverged_ = true;
}

double QLearning::run_episode() {
  const double epsilon = this->epsilon();
  ++episodes_;
  if (diverged_) return 0;
  [[maybe_unused]] const kernels::FlushToZero flush;  // once for all steps
  double sum = 0;
  std::uint32_t state = environment_.reset();
  for (Outcome outcome; !outcome.over();) {
    const std::uint32_t action = choose(state, epsilon);
    outcome = environment_.step(action);
    learn(state, action, outcome);
    if (diverged_) return 0;
    sum += outcome.reward;
    state = outcome.state;
  }
  return sum;
}

}  // namespace ignd
