#include "rl/transitions.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace ignd {

Eigen::MatrixXd QuadraticFeatures::matrix(std::span<const double> w) const {
  const auto n = static_cast<Eigen::Index>(signals_);
  Eigen::MatrixXd m(n, n);
  std::size_t k = 0;
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < j; ++i) m(i, j) = m(j, i) = w[k++] / 2;
    m(j, j) = w[k++];
  }
  return m;
}

void QuadraticFeatures::set_weights(const Eigen::MatrixXd& m, std::span<double> w) const {
  std::size_t k = 0;
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (Eigen::Index i = 0; i < j; ++i) w[k++] = m(i, j) + m(j, i);
    w[k++] = m(j, j);
  }
  if (constant_) w[k] = 0;
}

namespace {

// Kernels work on whole vectors: rows are zero-padded to a multiple of this, and arrays have as much spare space at
// their end.
constexpr std::size_t padding = 8;

std::size_t padded(std::size_t n) { return (n + padding - 1) / padding * padding; }

std::vector<std::string> faults(const TransitionOptions& options) {
  std::vector<std::string> found;
  if (options.episode_steps == 0) found.emplace_back("an episode needs at least one step");
  const double low = options.exploration_low;
  const double high = options.exploration_high;
  if (!(std::abs(low) <= 100 && std::abs(high) <= 100 && low <= high)) {
    found.push_back(fmt::format(
        "the range of exploration is from {} to {}, but must be increasing and within 100 decades", low, high));
  }
  if (!(std::isfinite(options.noise) && options.noise >= 0)) {
    found.push_back(fmt::format("the noise is {}, but must be a finite number of at least 0", options.noise));
  }
  return found;
}

// The columns of a matrix one after the other, each with zeros up to `stride` numbers.
AlignedVector<double> padded_columns(const Eigen::MatrixXd& matrix, std::size_t stride) {
  AlignedVector<double> padded(stride * static_cast<std::size_t>(matrix.cols()));
  double* column = padded.data();
  for (Eigen::Index j = 0; j < matrix.cols(); ++j, column += stride) {
    std::copy_n(matrix.col(j).data(), matrix.rows(), column);
  }
  return padded;
}

}  // namespace

// Marsaglia's polar method.
void Normals::refill() {
  for (std::size_t i = 0; i < ready_.size();) {
    const double u = 2 * stream_.uniform() - 1;
    const double v = 2 * stream_.uniform() - 1;
    const double square = u * u + v * v;
    if (square >= 1 || square == 0) continue;
    const double stretch = std::sqrt(-2 * std::log(square) / square);
    ready_[i++] = stretch * u;
    ready_[i++] = stretch * v;
  }
  used_ = 0;
}

Transitions::Transitions(const LinearSystem& system, const TransitionOptions& options, std::uint64_t seed)
    : options_(options),
      states_(static_cast<std::size_t>(system.states())),
      actions_(static_cast<std::size_t>(system.actions())),
      features_(states_ + actions_, options.noise > 0),
      reward_(features_.size()),
      every_signal_(features_.signals()),
      scales_(seed, "exploration scale"),
      draws_(seed, "states and actions"),
      noise_(seed, "process noise"),
      here_(features_.signals() + padding),
      there_(features_.signals() + padding),
      x_(features_.size() + padding),
      next_x_(features_.size() + padding) {
  const auto found = faults(options);
  if (!found.empty()) throw InvalidArgument(list_faults(found));
  std::iota(every_signal_.begin(), every_signal_.end(), 0U);

  Eigen::MatrixXd dynamics(system.states(), system.states() + system.actions());
  dynamics << system.a, system.b;
  dynamics_ = padded_columns(dynamics, padded(states_));

  Eigen::MatrixXd weights =
      Eigen::MatrixXd::Zero(system.states() + system.actions(), system.states() + system.actions());
  weights.topLeftCorner(system.states(), system.states()) = -system.q;
  weights.bottomRightCorner(system.actions(), system.actions()) = -system.r;
  features_.set_weights(weights, reward_);
  follow(Eigen::MatrixXd::Zero(system.actions(), system.states()));
}

void Transitions::follow(const Eigen::MatrixXd& policy) {
  const auto has = [](Eigen::Index count, std::size_t expected) { return static_cast<std::size_t>(count) == expected; };
  if (!has(policy.rows(), actions_) || !has(policy.cols(), states_)) {
    throw InvalidArgument(fmt::format("the policy is {} x {}, but must be {} x {}: a row for each action",
                                      policy.rows(), policy.cols(), actions_, states_));
  }
  policy_ = padded_columns(policy, padded(actions_));
  steps_left_ = 0;
}

Transition Transitions::next() {
  if (options_.sampling == Sampling::independent) {
    draw_signals();
  } else {
    if (steps_left_ == 0) {
      begin_episode();
    } else {
      std::swap(here_, there_);
      std::swap(x_, next_x_);
    }
    --steps_left_;
    for (std::size_t i = 0; i < actions_; ++i) here_[states_ + i] += rho_ * draws_.next();
    features_.write(here_.data(), states_, x_.data());  // the products of states are those of the step before
  }
  move();
  const std::size_t size = features_.size();
  const double reward = kernels::table<double>().dot(reward_.data(), x_.data(), size);
  return {{x_.data(), size}, reward, {next_x_.data(), size}};
}

void Transitions::begin_episode() {
  rho_ = std::pow(10.0, scales_.uniform(options_.exploration_low, options_.exploration_high));
  steps_left_ = options_.episode_steps;
  for (std::size_t i = 0; i < states_; ++i) here_[i] = rho_ * draws_.next();
  act(here_);
  features_.write(here_.data(), 0, x_.data());
}

void Transitions::draw_signals() {
  for (std::size_t i = 0; i < states_ + actions_; ++i) here_[i] = draws_.next();
  features_.write(here_.data(), 0, x_.data());
}

void Transitions::move() {
  kernels::table<double>().layer_forward(dynamics_.data(), here_.data(), every_signal_, padded(states_), there_.data());
  if (options_.noise > 0) {
    for (std::size_t i = 0; i < states_; ++i) there_[i] += options_.noise * noise_.next();
  }
  act(there_);
  features_.write(there_.data(), 0, next_x_.data());
}

void Transitions::act(AlignedVector<double>& signals) const {
  kernels::table<double>().layer_forward(policy_.data(), signals.data(), std::span(every_signal_).first(states_),
                                         padded(actions_), signals.data() + states_);
}

}  // namespace ignd
