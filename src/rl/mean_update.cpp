#include "rl/mean_update.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// One kind of product each, since every kind takes the compiler seconds.
MatrixXd times_transposed(const MatrixXd& a, const MatrixXd& b) { return a * b.transpose(); }
MatrixXd times(const MatrixXd& a, const MatrixXd& b) { return a * b; }

MatrixXd power(MatrixXd base, std::uint64_t exponent) {
  MatrixXd result = MatrixXd::Identity(base.rows(), base.cols());
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = times(result, base);
    base = times(base, base);
  }
  return result;
}

bool is_stable(const MeanUpdate& update, double discount) { return update.slowest_mode(discount) > 0; }

// By bisection over hundredths: stable at the lower end, which a discount of 0 always is, and not at the upper end.
std::optional<double> stable_discount(const MeanUpdate& one, const MeanUpdate& other, double discount) {
  const auto both = [&](int hundredths) {
    return is_stable(one, hundredths / 100.0) && is_stable(other, hundredths / 100.0);
  };
  int low = 0;
  int high = static_cast<int>(std::ceil(100 * discount));
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (both(middle) ? low : high) = middle;
  }
  if (low == 0) return std::nullopt;
  return low / 100.0;
}

}  // namespace

double MeanUpdate::slowest_mode(double discount) const {
  const MatrixXd matrix = here - discount * next;
  if (!matrix.allFinite()) return -std::numeric_limits<double>::infinity();
  return spectrum(matrix).real().minCoeff() / here.trace();
}

double MeanUpdate::phase_radius(double discount, double rate, std::uint64_t hold) const {
  const MatrixXd one = MatrixXd::Identity(here.rows(), here.cols());
  const MatrixXd kept = power(one - rate * here, hold);
  // What a phase learns is the solution of the regression, here^-1 (gamma next) v, except for what it keeps of v.
  const MatrixXd solution = Eigen::PartialPivLU<MatrixXd>(here).solve(discount * next);
  return spectrum(kept + times(one - kept, solution)).cwiseAbs().maxCoeff();
}

namespace {

// The covariances of normal signals z and z', both with mean zero.
struct Covariances {
  MatrixXd here, cross, next;  // E[z z^T], E[z z'^T], E[z' z'^T]
};

// E[x x'^T] of their products, by E[abcd] = E[ab] E[cd] + E[ac] E[bd] + E[ad] E[bc].
MatrixXd fourth_moments(const Covariances& z, const QuadraticFeatures& features) {
  const auto size = static_cast<Index>(features.size());
  MatrixXd moments(size, size);
  Index column = 0;
  for (Index l = 0; l < z.next.rows(); ++l) {
    for (Index k = 0; k <= l; ++k, ++column) {
      Index row = 0;
      for (Index j = 0; j < z.here.rows(); ++j) {
        for (Index i = 0; i <= j; ++i, ++row) {
          moments(row, column) =
              z.here(i, j) * z.next(k, l) + z.cross(i, k) * z.cross(j, l) + z.cross(i, l) * z.cross(j, k);
        }
      }
      if (row < size) moments(row, column) = z.next(k, l);  // with the constant
    }
  }
  if (column < size) {
    Index row = 0;
    for (Index j = 0; j < z.here.rows(); ++j) {
      for (Index i = 0; i <= j; ++i) moments(row++, column) = z.here(i, j);
    }
    moments(row, column) = 1;
  }
  return moments;
}

// The signals of one step, as functions of those of the step before.
class SignalFlow {
 public:
  SignalFlow(const LinearSystem& system, const TransitionOptions& options, const MatrixXd& policy)
      : states_(system.states()), signals_(states_ + system.actions()), act_(signals_, states_) {
    act_ << MatrixXd::Identity(states_, states_), policy;
    MatrixXd dynamics(states_, signals_);
    dynamics << system.a, system.b;
    forward_ = times(act_, dynamics);
    noise_ = options.noise * options.noise * times_transposed(act_, act_);
  }

  // Exploring actions of a given variance are added to what the policy does.
  MatrixXd explored(MatrixXd covariance, double variance) const {
    covariance.diagonal().tail(signals_ - states_).array() += variance;
    return covariance;
  }
  MatrixXd first(double variance) const { return explored(variance * times_transposed(act_, act_), variance); }
  MatrixXd first_independent() const { return MatrixXd::Identity(signals_, signals_); }

  Covariances step(const MatrixXd& here) const {
    const MatrixXd cross = times_transposed(here, forward_);
    return {here, cross, times(forward_, cross) + noise_};
  }

 private:
  Index states_, signals_;
  MatrixXd act_, forward_, noise_;
};

}  // namespace

MeanUpdate plain_update(const LinearSystem& system, const TransitionOptions& options, const MatrixXd& policy) {
  constexpr int scales = 64;  // of episodes, evenly spaced logarithms
  const QuadraticFeatures features(static_cast<std::size_t>(system.states() + system.actions()), options.noise > 0);
  const SignalFlow flow(system, options, policy);
  const auto size = static_cast<Index>(features.size());
  MeanUpdate mean{MatrixXd::Zero(size, size), MatrixXd::Zero(size, size)};
  const auto add = [&](const MatrixXd& here) {
    const Covariances z = flow.step(here);
    mean.here += fourth_moments({here, here, here}, features);
    mean.next += fourth_moments(z, features);
    return z.next;
  };
  if (options.sampling == Sampling::independent) {
    add(flow.first_independent());
    return mean;
  }
  for (int k = 0; k < scales; ++k) {
    const double place = (k + 0.5) / scales;
    const double low = options.exploration_low;
    const double variance = std::pow(100.0, low + place * (options.exploration_high - low));
    MatrixXd here = flow.first(variance);
    for (std::uint64_t step = 0; step < options.episode_steps; ++step) here = flow.explored(add(here), variance);
  }
  const double terms = scales * static_cast<double>(options.episode_steps);
  mean.here /= terms;
  mean.next /= terms;
  return mean;
}

MeanUpdate normalised_update(Transitions& transitions, std::size_t samples) {
  constexpr std::size_t block = 256;
  const std::size_t features = transitions.features().size();
  const auto size = static_cast<Index>(features);
  MeanUpdate mean{MatrixXd::Zero(size, size), MatrixXd::Zero(size, size)};
  for (std::size_t done = 0; done < samples;) {
    const auto count = static_cast<Index>(std::min(block, samples - done));
    MatrixXd x(size, count);
    MatrixXd next(size, count);
    MatrixXd normalised(size, count);
    for (Index k = 0; k < count; ++k) {
      const Transition seen = transitions.next();
      std::copy_n(seen.x.begin(), features, x.col(k).data());
      std::copy_n(seen.next_x.begin(), features, next.col(k).data());
      normalised.col(k) = x.col(k) / x.col(k).squaredNorm();
    }
    mean.here += times_transposed(normalised, x) / static_cast<double>(samples);
    mean.next += times_transposed(normalised, next) / static_cast<double>(samples);
    done += static_cast<std::size_t>(count);
  }
  return mean;
}

UpdateStability judge(const MeanUpdate& one, const MeanUpdate& other, double discount) {
  const double first = one.slowest_mode(discount);
  const double second = other.slowest_mode(discount);
  UpdateStability verdict;
  verdict.slowest_mode = (first + second) / 2;
  if ((first > 0) != (second > 0)) return verdict;
  verdict.stability = first > 0 ? Stability::stable : Stability::unstable;
  if (verdict.stability == Stability::unstable) verdict.stable_discount = stable_discount(one, other, discount);
  return verdict;
}

}  // namespace ignd
