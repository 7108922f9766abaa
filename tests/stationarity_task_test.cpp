#include "base/stopped.hpp"
#include "dense_algebra.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "ignd/trainer.hpp"
#include "lab/stationarity.hpp"
#include "lab/task.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// The study of the paper's stationarity theorem, against brute force and closed forms.
namespace ignd {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<std::unique_ptr<Model<double>>> models(std::uint64_t seed) {
  std::vector<std::unique_ptr<Model<double>>> made;
  made.push_back(std::make_unique<Linear<double>>(2, false));
  made.push_back(
      std::make_unique<Mlp<double>>(std::vector<std::size_t>{2, 3}, MlpOptions{.activation = Activation::tanh}));
  RandomStream stream(seed, "weights");
  for (const auto& model : made) {
    for (double& w : model->parameters()) w = stream.normal();
  }
  return made;
}

double mean_loss(const FiniteProblem& problem, const Model<double>& model) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.x.size(); ++i)
    sum += problem.loss->at(problem.y[i], model.predict({problem.x[i]})).value;
  return sum / static_cast<double>(problem.x.size());
}

// The gradient by central differences of the mean loss; the scaled one as the mean of the steps of rate 1 that a
// trainer takes from there, one for every sample.
TEST(StationarityMoments, AreWhatDifferencesAndTheTrainersStepsSay) {
  for (const char* loss : {"squared", "logistic", "log-cosh"}) {
    for (const char* rule : {"gauss-newton:eps_lm=0.1", "gradient", "normalized:eps=0.01"}) {
      for (const auto& model : models(3)) {
        const auto teacher = models(4)[0]->clone();
        const FiniteProblem problem =
            draw_problem(make_loss(loss), *teacher, {.samples = 7, .spread = 0.5, .noise = 0.5, .seed = 5});
        const Moments at = moments_of(problem, *model, *make_step_rule(rule));
        const std::size_t size = model->parameters().size();
        VectorXd mean_step = VectorXd::Zero(static_cast<Eigen::Index>(size));
        double step_square = 0;
        for (std::size_t i = 0; i < problem.x.size(); ++i) {
          const auto moved = model->clone();
          Trainer<double> trainer(
              *moved, {.loss = problem.loss, .optimizer = {rule, "plain"}, .schedule = Schedule::constant(1)});
          trainer.step({{problem.x[i]}, problem.y[i]});
          const VectorXd step = testing::to_eigen(moved->parameters()) - testing::to_eigen(model->parameters());
          mean_step += step / 7;
          step_square += step.squaredNorm() / 7;
        }
        const auto probe = model->clone();
        for (std::size_t k = 0; k < size; ++k) {
          double& w = probe->parameters()[k];
          const double kept = w, small = 1e-6;
          w = kept + small;
          const double above = mean_loss(problem, *probe);
          w = kept - small;
          const double below = mean_loss(problem, *probe);
          w = kept;
          EXPECT_NEAR(at.gradient[k], (above - below) / (2 * small), 1e-8) << loss << " " << rule;
          EXPECT_NEAR(at.scaled[k], -mean_step[static_cast<Eigen::Index>(k)], 1e-12) << loss << " " << rule;
        }
        EXPECT_NEAR(at.scaled_square, step_square, 1e-12 * (1 + step_square));
        EXPECT_NEAR(at.value, mean_loss(problem, *model), 1e-14);
        EXPECT_GE(at.square, at.gradient_square() * (1 - 1e-12)) << "Jensen's inequality";
      }
    }
  }
}

// Every pair of constants that touches the points in two places, or one of them with an axis, and holds at all.
MomentBound best_by_trial(const std::vector<double>& a, const std::vector<double>& b) {
  double mean = 0;
  for (const double value : a) mean += value / static_cast<double>(a.size());
  MomentBound best{*std::ranges::max_element(b), 0};
  const auto consider = [&](double m0, double m2) {
    if (m0 < 0 || m2 < 0 || m0 + m2 * mean >= best.m0 + best.m2 * mean) return;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (m0 + m2 * a[k] < b[k] * (1 - 1e-12)) return;
    }
    best = {m0, m2};
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    consider(0, b[i] / a[i]);
    for (std::size_t k = 0; k < i; ++k) {
      const double slope = (b[i] - b[k]) / (a[i] - a[k]);
      consider(b[i] - slope * a[i], slope);
    }
  }
  return best;
}

TEST(StationarityMoments, TheLowestBoundIsFound) {
  RandomStream stream(1, "points");
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> a, b;
    for (std::uint64_t k = 1 + stream.below(12); k > 0; --k) {
      a.push_back(std::exp(2 * stream.normal()));
      b.push_back(trial % 2 == 0 ? std::exp(2 * stream.normal()) : 0.3 + 2 * a.back());
    }
    const MomentBound found = moment_bound(a, b), best = best_by_trial(a, b);
    double mean = 0;
    for (const double value : a) mean += value / static_cast<double>(a.size());
    EXPECT_NEAR(found.m0 + found.m2 * mean, best.m0 + best.m2 * mean, 1e-9 * (best.m0 + best.m2 * mean));
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_GE(found.m0 + found.m2 * a[k], b[k] * (1 - 1e-9));
  }
  const std::vector<double> none{0, 0}, values{0.5, 2};
  EXPECT_EQ(moment_bound(none, values).m0, 2);
}

Settings settings_with(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> values;
  for (const SettingKey& key : stationarity_task().keys()) values[key.name] = key.default_value;
  for (const auto& [name, value] : changes) values[name] = value;
  return Settings(values);
}

RunResult run_of(const std::string& rule, const std::map<std::string, std::string>& changes, double rate = 0.5,
                 std::uint64_t seed = 1) {
  const std::atomic<bool> never = false;
  return stationarity_task().run({"stationarity", settings_with(changes), {rule, "plain"}, rate, seed}, never);
}

double extra(const RunResult& result, const std::string& name) {
  return std::ranges::find(result.extras, name, [](const auto& pair) { return pair.first; })->second;
}

const std::map<std::string, std::string> falling{
    {"schedule", "robbins-monro:horizon=20,power=0.75"}, {"noise", "1"}, {"steps", "100000"}};

std::map<std::string, std::string> with(std::map<std::string, std::string> settings,
                                        const std::map<std::string, std::string>& changes) {
  for (const auto& [name, value] : changes) settings[name] = value;
  return settings;
}

// Samples of length 1 have one xi for all, which is mu.
TEST(Stationarity, EqualLengthsAreAlignedExactly) {
  const RunResult run = run_of("gauss-newton:eps_lm=0.1", falling);
  EXPECT_NEAR(extra(run, "mu"), 1 / 1.1, 1e-9);
  EXPECT_EQ(extra(run_of("gradient", falling, 0.1), "mu"), 1);
  EXPECT_EQ(run.x.back(), 5) << "log10 of all steps";
  EXPECT_EQ(run.score, run.y.back());
}

TEST(Stationarity, TheAverageStaysBelowTheBoundOfTheProof) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const RunResult average = run_of("gauss-newton:eps_lm=0.1", falling, 0.5, seed);
    const RunResult bound = run_of("gauss-newton:eps_lm=0.1", with(falling, {{"show", "bound"}}), 0.5, seed);
    ASSERT_EQ(bound.status, RunStatus::finished);
    ASSERT_EQ(average.x, bound.x);
    // The proof is about expectations; from ten steps on, one run keeps to it as well.
    for (std::size_t k = 0; k < average.x.size(); ++k) {
      if (average.x[k] >= 1) {
        EXPECT_LE(average.y[k], bound.y[k]) << seed << ", 10^" << average.x[k];
      }
    }
    EXPECT_LT(bound.y.back(), bound.y[bound.y.size() / 2]) << "it falls, too";
  }
}

// Ten times the rate, ten times the floor, to the first order in the rate; and falling rates have none.
TEST(Stationarity, ConstantRatesLeaveAFloorInProportion) {
  const auto last = [](double rate) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      sum += extra(run_of("gauss-newton:eps_lm=0.1", {{"noise", "1"}, {"steps", "200000"}}, rate, seed), "last");
    }
    return sum / 4;
  };
  const double floor = last(0.05);
  EXPECT_NEAR(floor / last(0.005), 10, 2.5);
  double falls = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    falls += extra(run_of("gauss-newton:eps_lm=0.1", falling, 0.5, seed), "last") / 4;
  }
  EXPECT_LT(falls, 0.1 * floor);
}

// With noise and several lengths, IGND rests where E xi g = 0: no alignment, and a gradient that stays.
TEST(Stationarity, WithoutAlignmentTheGradientStays) {
  const auto lengths = with(falling, {{"spread", "0.5"}});
  const RunResult ignd = run_of("gauss-newton:eps_lm=0.001", lengths), sgd = run_of("gradient", lengths, 0.1);
  EXPECT_LT(extra(ignd, "mu"), 0.05);
  EXPECT_GT(extra(ignd, "last"), 10 * extra(sgd, "last"));
  EXPECT_EQ(run_of("gauss-newton:eps_lm=0.001", with(lengths, {{"show", "bound"}})).status,
            extra(ignd, "mu") > 0 ? RunStatus::finished : RunStatus::diverged);
}

// Of a linear model that fits all samples, with B = E x x^T and B_xi = E xi x x^T, the alignment in the direction v
// from the optimum is v^T B B_xi v / ||B v||^2: its minimum is the smallest eigenvalue of the symmetric part of B_xi
// B^-1, and rho is the largest one of B^-1 E ||x||^2 x x^T B^-1.
TEST(Stationarity, TheWorstAlignmentIsAnEigenvalue) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::map<std::string, std::string> settings{{"show", "alignment"}, {"samples", "6"}, {"spread", "1"}};
    const RunResult run = run_of("gauss-newton", settings, 1, seed);
    // The samples do not depend on the teacher.
    const Linear<double> teacher(2, false);
    const FiniteProblem problem =
        draw_problem(make_loss("squared"), teacher, {.samples = 6, .spread = 1, .noise = 0, .seed = seed});
    MatrixXd b = MatrixXd::Zero(2, 2), fourth = b;
    double longest = 0;
    for (const auto& x : problem.x) {
      const VectorXd v = testing::to_eigen(x);
      b += v * v.transpose() / 6;
      fourth += v.squaredNorm() * v * v.transpose() / 6;
      longest = std::max(longest, v.squaredNorm());
    }
    const MatrixXd inverse = testing::solve(b, MatrixXd::Identity(2, 2));
    const double growth = testing::eigenvalues(inverse * fourth * inverse).maxCoeff();
    // 720 directions are at most half a degree apart.
    EXPECT_NEAR(extra(run, "growth") / growth, 1, 1e-3);
    EXPECT_NEAR(extra(run, "needed"), longest / 2 * std::sqrt(growth - 1), 1e-3 * extra(run, "needed"));
    for (std::size_t k = 0; k < run.x.size(); ++k) {
      const double eps_lm = std::pow(10, run.x[k]) * extra(run, "needed");
      MatrixXd scaled = MatrixXd::Zero(2, 2);
      double scale = 0;
      for (const auto& x : problem.x) {
        const VectorXd v = testing::to_eigen(x);
        const double xi = 1 / (v.squaredNorm() + eps_lm);
        scaled += xi * v * v.transpose() / 6;
        scale += xi / 6;
      }
      const MatrixXd product = scaled * inverse;
      const double worst = testing::eigenvalues((product + product.transpose()) / 2).minCoeff() / scale;
      EXPECT_NEAR(run.y[k], worst, 1e-3 * (1 + std::abs(worst))) << seed << " at " << run.x[k];
    }
  }
}

// The appendix's proposition, and its remark in both directions.
TEST(Stationarity, TheConditionIsSufficientAndNotNecessary) {
  bool uphill = false, good_below = false;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const char* loss : {"squared", "log-cosh"}) {
      const std::map<std::string, std::string> settings{
          {"show", "alignment"}, {"samples", "3"}, {"spread", "1"}, {"loss", loss}};
      const RunResult measured = run_of("gauss-newton", settings, 1, seed);
      const RunResult guaranteed = run_of("gauss-newton", with(settings, {{"show", "guarantee"}}), 1, seed);
      for (std::size_t k = 0; k < measured.x.size(); ++k) {
        EXPECT_EQ(guaranteed.y[k] > 1e-12, measured.x[k] > 0) << "the condition is where mu changes its sign";
        if (measured.x[k] > 0) {
          EXPECT_GE(measured.y[k], guaranteed.y[k] * (1 - 1e-12));
        } else if (measured.x[k] < 0) {
          uphill = uphill || measured.y[k] < 0;
          good_below = good_below || measured.y[k] > 0.1;
        }
      }
    }
  }
  EXPECT_TRUE(uphill) << "below it, an expected step may go up the gradient";
  EXPECT_TRUE(good_below) << "and may be well aligned all the same";
}

// Its sum, weighted by the steps between points, is that of the average at a constant rate.
TEST(Stationarity, TheGradientIsWhatTheAverageIsOf) {
  const std::map<std::string, std::string> settings{{"noise", "1"}, {"steps", "5000"}};
  const RunResult average = run_of("gauss-newton", settings, 0.1);
  const RunResult gradient = run_of("gauss-newton", with(settings, {{"show", "gradient"}}), 0.1);
  ASSERT_EQ(average.x, gradient.x);
  double sum = 0, before = 0;
  for (std::size_t k = 0; k < average.x.size(); ++k) {
    const double steps = std::pow(10, average.x[k]);
    sum += (steps - before) * gradient.y[k];
    before = steps;
    EXPECT_NEAR(average.y[k], sum / steps, 1e-9 * average.y[k]);
  }
}

TEST(Stationarity, RunsArePureFunctionsOfTheirSeed) {
  const auto quick = with(falling, {{"steps", "1000"}});
  EXPECT_EQ(run_of("gauss-newton", quick), run_of("gauss-newton", quick));
  EXPECT_NE(run_of("gauss-newton", quick), run_of("gauss-newton", quick, 0.5, 2));
}

TEST(Stationarity, StopsAndRefuses) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(stationarity_task().run({"stationarity", settings_with({}), {"gradient", "plain"}, 0.1, 1}, stop),
               Stopped);
  EXPECT_THROW(run_of("relative", {}), InvalidArgument) << "its scale depends on earlier samples";
  const std::atomic<bool> never = false;
  EXPECT_THROW(stationarity_task().run({"stationarity", settings_with({}), find_optimizer("adam"), 0.1, 1}, never),
               InvalidArgument);
  EXPECT_THROW(run_of("gradient", {{"show", "alignment"}}), InvalidArgument);
  const auto faults = [](const std::map<std::string, std::string>& changes) {
    return stationarity_task().faults(settings_with(changes)).size();
  };
  EXPECT_EQ(faults({}), 0U);
  EXPECT_EQ(faults({{"loss", "sqared"}}), 1U);
  EXPECT_EQ(faults({{"schedule", "robins-monro"}}), 1U);
  EXPECT_EQ(faults({{"show", "bound"}, {"model", "network"}}), 1U);
  EXPECT_EQ(faults({{"show", "alignment"}, {"noise", "1"}}), 1U);
  EXPECT_EQ(faults({{"show", "alignment"}, {"loss", "logistic"}}), 1U);
  EXPECT_EQ(faults({{"loss", "poisson"}}), 1U);
  const RunResult wild = run_of("gradient", {{"noise", "1"}, {"steps", "100000"}}, 100);
  EXPECT_EQ(wild.status, RunStatus::diverged);
  EXPECT_GT(wild.failed_at, 0U);
  EXPECT_FALSE(wild.score);
}

}  // namespace
}  // namespace ignd
