#include "rl/control_systems.hpp"

#include "dense_algebra.hpp"
#include "support.hpp"

#include <algorithm>
#include <complex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Complex = std::complex<double>;

const SystemMatrices& matrices(const char* name) {
  return std::visit([](const auto& system) -> const SystemMatrices& { return system; }, find_system(name)->system);
}

// The largest distance of an eigenvalue that is expected from the nearest one that A has.
double distance(const char* name, const std::vector<Complex>& expected) {
  const Eigen::VectorXcd found = spectrum(matrices(name).a);
  EXPECT_EQ(static_cast<std::size_t>(found.size()), expected.size()) << name;
  double largest = 0;
  for (const Complex& one : expected) largest = std::max(largest, (found.array() - one).abs().minCoeff());
  return largest;
}

TEST(ControlSystems, HaveThePolesThatWerePublishedOfThem) {
  EXPECT_LT(distance("uav", {0, {-0.7801, 1.0296}, {-0.7801, -1.0296}, {-0.0176, 0.1826}, {-0.0176, -0.1826}}), 1e-4);
  EXPECT_LT(distance("ac3", {{-0.0882, 1.2695}, {-0.0882, -1.2695}, -1.0855, -0.0092, -0.5}), 1e-4);
  EXPECT_LT(distance("he1", {{0.27579, 0.25758}, {0.27579, -0.25758}, -0.2325, -2.072667}), 5e-5);
  EXPECT_LT(distance("rea1", {1.991, 0.0635, -5.0566, -8.6659}), 5e-5);
}

TEST(ControlSystems, HaveThePublishedNumbersOfStatesAndActions) {
  const std::vector<std::pair<const char*, std::pair<int, int>>> published{
      {"uav", {5, 3}}, {"bdt", {11, 3}}, {"ac3", {5, 2}}, {"ac5", {4, 2}}, {"he1", {4, 2}},
      {"he2", {4, 2}}, {"mfp", {4, 3}},  {"nn4", {4, 2}}, {"psm", {7, 2}}, {"rea1", {4, 2}}};
  EXPECT_EQ(published.size(), named_systems().size());
  for (const auto& [name, size] : published) {
    EXPECT_EQ(matrices(name).states(), size.first) << name;
    EXPECT_EQ(matrices(name).actions(), size.second) << name;
    EXPECT_TRUE(faults(matrices(name)).empty()) << name;
  }
  EXPECT_EQ(find_system("own"), nullptr);
}

// Second-order mechanics, a regulator in each of two equal areas: what typing errors would break.
TEST(ControlSystems, HaveTheStructureOfWhatTheyModel) {
  EXPECT_EQ(matrices("mfp").a.topRows(2), Eigen::MatrixXd({{0, 0, 1, 0}, {0, 0, 0, 1}}));
  EXPECT_EQ(matrices("he1").a.row(3), matrices("he2").a.row(3));
  const auto& psm = matrices("psm").a;
  EXPECT_EQ(psm.topLeftCorner(3, 3), psm.bottomRightCorner(3, 3));
  EXPECT_EQ(matrices("psm").b.row(0).reverse(), matrices("psm").b.row(4));
}

TEST(ControlSystems, EachHasABestPolicyThatStabilisesIt) {
  for (const NamedSystem& one : named_systems()) {
    const auto* continuous = std::get_if<ContinuousSystem>(&one.system);
    const LinearSystem system =
        continuous != nullptr ? hold_actions(*continuous, 0.1) : std::get<LinearSystem>(one.system);
    const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(system.actions(), system.states());
    EXPECT_LT(discounted_radius(system, 0.9, optimal_policy(system, 0.9)), 1) << one.name;
    EXPECT_EQ(discounted_radius(system, 0.9, none) < 1, one.name != "rea1") << one.name;
  }
}

TEST(Spectrum, AreThoseThatAMatrixWasMadeOf) {
  RandomStream stream(1, "eigenvalues");
  for (int trial = 0; trial < 50; ++trial) {
    const auto size = 2 + static_cast<Eigen::Index>(stream.below(8));
    Eigen::MatrixXd diagonal = random_matrix(stream, 1, size).row(0).asDiagonal();
    const double turn = stream.normal();  // two of them are a pair of complex numbers
    diagonal(1, 1) = diagonal(0, 0);
    diagonal(0, 1) = turn;
    diagonal(1, 0) = -turn;
    const Eigen::MatrixXd basis = random_definite(stream, size);
    const Eigen::VectorXcd found = spectrum(basis * diagonal * solve(basis, Eigen::MatrixXd::Identity(size, size)));
    for (Eigen::Index i = 0; i < size; ++i) {
      const Complex expected(diagonal(i, i), i == 0 ? turn : i == 1 ? -turn : 0);
      EXPECT_LT((found.array() - expected).abs().minCoeff(), 1e-7);
    }
  }
}

}  // namespace
}  // namespace ignd::testing
