#include "core/damped_system.hpp"

#include "dense_algebra.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// A A^T of any rank, none too.
Matrix semidefinite(RandomStream& stream, Eigen::Index size) {
  const Matrix root = testing::random_matrix(stream, size, static_cast<Eigen::Index>(stream.below(size + 1)));
  return root * root.transpose();
}

struct Problem {
  Matrix gram, curvature;
  Vector slope;

  Problem(RandomStream& stream, Eigen::Index samples, Eigen::Index block)
      : gram(semidefinite(stream, samples * block)),
        curvature(Matrix::Zero(samples * block, samples * block)),
        slope(testing::random_matrix(stream, samples * block, 1)) {
    for (Eigen::Index s = 0; s < samples; ++s) {
      curvature.block(s * block, s * block, block, block) = semidefinite(stream, block);
    }
  }

  // Left of the diagonal there may be anything.
  void fill(DampedSystem& system, Eigen::Index block) const {
    constexpr double anything = std::numeric_limits<double>::quiet_NaN();
    std::size_t at = 0, in_block = 0;
    for (Eigen::Index r = 0; r < gram.rows(); ++r) {
      for (Eigen::Index c = 0; c < gram.rows(); ++c) system.gram()[at++] = c < r ? anything : gram(r, c);
      for (Eigen::Index c = 0; c < block; ++c) system.curvature()[in_block++] = curvature(r, r - r % block + c);
    }
  }
};

TEST(DampedSystem, EqualsADenseSolveWhateverHasNoCurvature) {
  RandomStream stream(1, "damped");
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const auto samples = static_cast<Eigen::Index>(1 + stream.below(6));
    const auto block = static_cast<Eigen::Index>(1 + stream.below(4));
    const Problem problem(stream, samples, block);
    const double mu = std::pow(10, stream.uniform(-2, 2));
    SCOPED_TRACE(fmt::format("repeat {}: {} samples in blocks of {}, mu {}", repeat, samples, block, mu));
    const auto rows = static_cast<std::size_t>(samples * block);
    DampedSystem system(rows + stream.below(3), static_cast<std::size_t>(block), 1e-16);
    problem.fill(system, block);
    std::vector<double> z(rows);
    ASSERT_TRUE(system.solve(rows, mu, {problem.slope.data(), rows}, z));
    Matrix dense = problem.curvature * problem.gram;
    dense.diagonal().array() += mu;
    const Vector expected = testing::solve(dense, problem.slope);
    const Vector actual = testing::to_eigen(z);
    EXPECT_LE((actual - expected).norm(), 1e-6 * expected.norm());
  }
}

// Two rows of J at a small angle: whether they are two is a question of how well their products are known.
TEST(DampedSystem, WithoutDampingNothingIsMadeOfRounding) {
  for (const double rounding : {1e-16, 1e-7}) {
    for (const double angle : {1e-9, 1e-7, 1e-5, 1e-2}) {
      DampedSystem system(2, 1, rounding);
      const double gram[] = {1, 1, 1, 1 + angle * angle};
      std::ranges::copy(gram, system.gram().begin());
      std::ranges::fill(system.curvature(), 1.0);
      const double slope[] = {1, 2};
      double z[2];
      EXPECT_EQ(system.solve(2, 0, slope, z), angle * angle > 2 * rounding) << rounding << " " << angle;
    }
  }
}

TEST(DampedSystem, RefusesWhatIsBentDownwards) {
  for (const double mu : {0.0, 1.0}) {
    DampedSystem system(2, 2, 1e-16);
    const double identity[] = {1, 0, 0, 1}, saddle[] = {1, 2, 2, 1};
    std::ranges::copy(identity, system.gram().begin());
    std::ranges::copy(saddle, system.curvature().begin());
    const double slope[] = {1, 2};
    double z[2];
    EXPECT_FALSE(system.solve(2, mu, slope, z)) << mu;
  }
}

}  // namespace
}  // namespace ignd
