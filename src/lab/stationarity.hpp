#pragma once

#include "ignd/loss.hpp"
#include "ignd/model.hpp"
#include "ignd/step_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

// What the paper's stationarity theorem is about, on data sets so small that an expectation over a sample is a sum.
namespace ignd {

// A fixed set of samples with two features each, drawn one at a time with equal probability.
struct FiniteProblem {
  std::shared_ptr<const Loss> loss;
  std::vector<std::vector<double>> x;
  std::vector<double> y;
};

struct ProblemOptions {
  std::size_t samples = 50;
  double spread = 0;  // the length of a sample is 10^U(-spread, spread)
  double noise = 0;   // of the targets around the teacher's outputs
  std::uint64_t seed = 1;
};

// Random samples whose targets are the outputs of a teacher, with normal noise. Where the loss wants a class, it is the
// likelier one or, with noise, drawn by the logistic function of the output divided by the noise.
FiniteProblem draw_problem(std::shared_ptr<const Loss> loss, const Model<double>& teacher,
                           const ProblemOptions& options);

// Exact expectations over a sample at a model's weights. g is the gradient of the sample's loss, xi the rule's scale.
struct Moments {
  std::vector<double> gradient;  // E g, that of the mean loss
  std::vector<double> scaled;    // E xi g
  double square = 0;             // E ||g||^2
  double scaled_square = 0;      // E ||xi g||^2
  double scale = 0;              // E xi
  double value = 0;              // the mean loss
  double most_sensitive = 0;     // the largest ||j||^2,
  double most_curved = 0;        // and the largest l_ff

  double gradient_square() const;  // ||E g||^2
  double alignment() const;        // E g . E xi g / ||E g||^2, which the theorem wants to be at least mu
};

// The rule must have no memory.
Moments moments_of(const FiniteProblem& problem, const Model<double>& model, const StepRule& rule);

// The constants M_0 and M_2 of E ||xi g||^2 <= M_0 + M_2 ||E g||^2: of all that hold at every point, those whose bound
// is lowest at the mean of `squares`.
struct MomentBound {
  double m0 = 0, m2 = 0;
};
MomentBound moment_bound(std::span<const double> squares, std::span<const double> scaled_squares);

// The appendix's sufficient condition, with the bounds Q on ||j||^2 and Lambda on l_ff and strong growth with `growth`.
struct SufficientCondition {
  double curvature = 0;  // A = (Lambda + eps_c) Q
  double growth = 1;     // rho >= 1

  double least_damping() const;           // eps_LM must be larger than this
  double alignment(double eps_lm) const;  // the mu that it then guarantees; nothing is guaranteed by one of at most 0
};

// The largest eigenvalue of the mean of x x^T: times a bound on l_ff, the smoothness of a linear model's mean loss.
double largest_second_moment(const FiniteProblem& problem);

}  // namespace ignd
