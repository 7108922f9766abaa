#include "rl/mean_update.hpp"

#include "dense_algebra.hpp"
#include "linear_control.hpp"
#include "support.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd no_policy(const LinearSystem& system) { return MatrixXd::Zero(system.actions(), system.states()); }

MeanUpdate normalised(const LinearSystem& system, const TransitionOptions& options, std::size_t samples,
                      std::uint64_t seed) {
  Transitions transitions(system, options, seed);
  return normalised_update(transitions, samples);
}

TEST(PlainUpdate, IsTheMeanOverTransitions) {
  RandomStream stream(1, "plain update");
  for (int trial = 0; trial < 6; ++trial) {
    const auto system = random_system(stream, 1 + trial % 3, 1 + trial % 2);
    const MatrixXd policy = random_matrix(stream, system.actions(), system.states(), 0.1);
    const TransitionOptions options{.sampling = trial == 5 ? Sampling::independent : Sampling::episodes,
                                    .episode_steps = 3,
                                    .exploration_low = -0.2,
                                    .exploration_high = 0.1,
                                    .noise = trial % 2 == 0 ? 0.0 : 0.3};
    Transitions transitions(system, options, 1);
    transitions.follow(policy);
    const MeanUpdate exact = plain_update(system, options, policy);
    MatrixXd here = MatrixXd::Zero(exact.here.rows(), exact.here.cols());
    MatrixXd next = here;
    constexpr int samples = 300'000;
    for (const Kept& seen : draw(transitions, samples)) {
      here += seen.x * seen.x.transpose() / samples;
      next += seen.x * seen.next_x.transpose() / samples;
    }
    // Fourth powers of normal numbers: their standard error is about 10 / sqrt(samples) of the mean.
    EXPECT_LT((here - exact.here).norm(), 0.06 * exact.here.norm()) << trial;
    EXPECT_LT((next - exact.next).norm(), 0.06 * (exact.next.norm() + exact.here.norm())) << trial;
  }
}

// Without noise the next features are a linear map of the features: the one that the exact moments have, too.
TEST(MeanUpdate, PlainAndNormalisedAgreeOnWhatFollows) {
  RandomStream stream(2, "what follows");
  for (int trial = 0; trial < 10; ++trial) {
    const auto system = random_system(stream, 1 + static_cast<Index>(stream.below(3)), 1);
    const MatrixXd policy = random_matrix(stream, 1, system.states(), 0.1);
    const MeanUpdate plain = plain_update(system, {}, policy);
    Transitions transitions(system, {}, 1);
    transitions.follow(policy);
    const MeanUpdate sampled = normalised_update(transitions, 1000);
    const MatrixXd map = solve(plain.here, plain.next);
    EXPECT_LT((solve(sampled.here, sampled.next) - map).norm(), 1e-7 * (1 + map.norm()));
    EXPECT_NEAR(sampled.here.trace(), 1, 1e-12);
    // Its eigenvalues are products of those of the closed loop, so that a long phase contracts with the largest square.
    const double radius = discounted_radius(system, 0.9, policy);
    EXPECT_NEAR(sampled.phase_radius(0.9, 1, 1'000'000'000), radius * radius, 1e-6 * (1 + radius * radius));
  }
}

TEST(MeanUpdate, APhaseOfOneStepIsTheSemiGradientStep) {
  const auto system = sampled_system("he1");
  const MeanUpdate update = normalised(system, {}, 20'000, 1);
  const Index size = update.here.rows();
  const MatrixXd step = MatrixXd::Identity(size, size) - 0.7 * (update.here - 0.9 * update.next);
  EXPECT_NEAR(update.phase_radius(0.9, 0.7, 1), spectrum(step).cwiseAbs().maxCoeff(), 1e-9);
}

// What is said of a system, and what a mean step of a small rate does: 1 - rate * slowest mode is its radius.
TEST(MeanUpdate, TheSignOfTheSlowestModeDecides) {
  struct Case {
    const char* name;
    bool plain_is_stable, normalised_is_stable;
  };
  for (const auto& [name, plain_is_stable, normalised_is_stable] :
       {Case{"uav", true, true}, Case{"nn4", true, true}, Case{"mfp", true, true}, Case{"ac3", false, false},
        Case{"he1", false, false}, Case{"he2", true, false}}) {
    const auto system = sampled_system(name);
    const MeanUpdate plain = plain_update(system, {}, no_policy(system));
    const MeanUpdate one = normalised(system, {}, 50'000, 1);
    const MeanUpdate other = normalised(system, {}, 50'000, 2);
    EXPECT_EQ(judge(plain, plain, 0.9).stability, plain_is_stable ? Stability::stable : Stability::unstable) << name;
    const UpdateStability judged = judge(one, other, 0.9);
    EXPECT_EQ(judged.stability, normalised_is_stable ? Stability::stable : Stability::unstable) << name;
    EXPECT_EQ(one.phase_radius(0.9, 0.01, 1) < 1, normalised_is_stable) << name;
    EXPECT_LT(one.phase_radius(0.9, 1, 100), 1) << name;
    EXPECT_EQ(judged.stable_discount.has_value(), !normalised_is_stable) << name;
  }
}

TEST(MeanUpdate, SemiGradientStepsOfTheAircraftBreakDownAtLargeDiscounts) {
  const MeanUpdate update = normalised(uav(), {}, 100'000, 1);
  EXPECT_GT(update.slowest_mode(0.9), 0);
  EXPECT_LT(update.slowest_mode(0.95), 0);
  EXPECT_LT(update.phase_radius(0.95, 1, 200), 1);
}

TEST(MeanUpdate, TheDiscountThatIsProposedIsStableAndTheNextIsNot) {
  const auto system = sampled_system("he1");
  const MeanUpdate one = normalised(system, {}, 20'000, 1);
  const MeanUpdate other = normalised(system, {}, 20'000, 2);
  const UpdateStability judged = judge(one, other, 0.9);
  ASSERT_TRUE(judged.stable_discount);
  EXPECT_LT(*judged.stable_discount, 0.9);
  EXPECT_EQ(judge(one, other, *judged.stable_discount).stability, Stability::stable);
  EXPECT_NE(judge(one, other, *judged.stable_discount + 0.01).stability, Stability::stable);
}

TEST(MeanUpdate, MeasurementsThatDisagreeSayNothing) {
  const MatrixXd one = MatrixXd::Identity(2, 2);
  const MeanUpdate growing{one, 2 * one};
  const MeanUpdate fading{one, 0.5 * one};
  EXPECT_EQ(judge(growing, growing, 0.9).stability, Stability::unstable);
  EXPECT_EQ(judge(fading, fading, 0.9).stability, Stability::stable);
  EXPECT_EQ(judge(growing, fading, 0.9).stability, Stability::unclear);
  EXPECT_NEAR(judge(growing, growing, 0.9).slowest_mode, -0.4, 1e-12);
  EXPECT_EQ(judge(growing, growing, 0.9).stable_discount, 0.49);
  const MeanUpdate runaway{one, one * std::numeric_limits<double>::infinity()};
  EXPECT_EQ(judge(runaway, runaway, 0.9).stability, Stability::unstable);
}

}  // namespace
}  // namespace ignd::testing
