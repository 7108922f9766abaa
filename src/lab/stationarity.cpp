#include "lab/stationarity.hpp"

#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace ignd {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double target_for(const Loss& loss, double output, double noise, RandomStream& stream) {
  if (loss.link() == Link::logit) {
    if (noise == 0) return output > 0 ? 1 : 0;
    return stream.uniform() < 1 / (1 + std::exp(-output / noise)) ? 1 : 0;
  }
  return output + noise * stream.normal();
}

}  // namespace

FiniteProblem draw_problem(std::shared_ptr<const Loss> loss, const Model<double>& teacher,
                           const ProblemOptions& options) {
  RandomStream stream(options.seed, "stationarity problem");
  FiniteProblem problem{std::move(loss), {}, {}};
  for (std::size_t i = 0; i < options.samples; ++i) {
    const double angle = 2 * std::numbers::pi * stream.uniform();
    const double length = std::pow(10, options.spread * stream.uniform(-1, 1));
    problem.x.push_back({length * std::cos(angle), length * std::sin(angle)});
    problem.y.push_back(target_for(*problem.loss, teacher.predict({problem.x.back()}), options.noise, stream));
  }
  return problem;
}

double Moments::gradient_square() const { return dot(gradient, gradient); }

double Moments::alignment() const { return dot(gradient, scaled) / gradient_square(); }

Moments moments_of(const FiniteProblem& problem, const Model<double>& model, const StepRule& rule) {
  const std::size_t size = model.parameters().size();
  const double share = 1 / static_cast<double>(problem.x.size());
  const Loss& loss = *problem.loss;
  Moments mean{.gradient = std::vector<double>(size), .scaled = std::vector<double>(size)};
  Trace<double> trace(model);
  std::vector<double> j(size);
  for (std::size_t i = 0; i < problem.x.size(); ++i) {
    const double y = problem.y[i];
    const LossAt l = loss.at(y, model.predict({problem.x[i]}, trace));
    model.sensitivity({problem.x[i]}, trace);
    write_dense<double>(trace.j, j);
    const double s = dot(j, j), square = l.d1 * l.d1 * s;
    const double xi =
        rule.scale({.loss = l, .minimum = loss.minimum(y), .curvature_floor = loss.curvature_floor(), .s = s});
    for (std::size_t k = 0; k < size; ++k) {
      mean.gradient[k] += share * l.d1 * j[k];
      mean.scaled[k] += share * xi * l.d1 * j[k];
    }
    mean.square += share * square;
    mean.scaled_square += share * xi * xi * square;
    mean.scale += share * xi;
    mean.value += share * l.value;
    mean.most_sensitive = std::max(mean.most_sensitive, s);
    mean.most_curved = std::max(mean.most_curved, l.d2);
  }
  return mean;
}

// The lowest bound is an edge of the upper hull of the points, or of the corner that they make with the axes: neither
// constant may be negative.
MomentBound moment_bound(std::span<const double> squares, std::span<const double> scaled_squares) {
  using Point = std::pair<double, double>;
  std::vector<Point> points;
  for (std::size_t k = 0; k < squares.size(); ++k) points.emplace_back(squares[k], scaled_squares[k]);
  std::ranges::sort(points);
  const double middle = std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size());
  const double highest = *std::ranges::max_element(scaled_squares);
  points.insert(points.begin(), {0, 0});                  // M_0 >= 0
  points.emplace_back(2 * points.back().first, highest);  // M_2 >= 0
  std::vector<Point> hull;
  const auto above = [](const Point& a, const Point& b, const Point& c) {
    return (b.first - a.first) * (c.second - a.second) >= (b.second - a.second) * (c.first - a.first);
  };
  for (const Point& point : points) {
    while (hull.size() > 1 && above(hull[hull.size() - 2], hull.back(), point)) hull.pop_back();
    hull.push_back(point);
  }
  for (std::size_t k = 1; k < hull.size(); ++k) {
    const auto [from, low] = hull[k - 1];
    const auto [to, high] = hull[k];
    if (to < middle || to == from) continue;
    const double slope = (high - low) / (to - from);
    return {.m0 = std::max(0.0, low - slope * from), .m2 = std::max(0.0, slope)};
  }
  return {.m0 = highest, .m2 = 0};
}

double SufficientCondition::least_damping() const { return curvature / 2 * std::sqrt(growth - 1); }

double SufficientCondition::alignment(double eps_lm) const {
  const double low = 1 / (curvature + eps_lm), high = 1 / eps_lm;
  return low - (high - low) / 2 * std::sqrt(growth - 1);
}

double largest_second_moment(const FiniteProblem& problem) {
  double a = 0, b = 0, c = 0;  // [a b; b c]
  const double share = 1 / static_cast<double>(problem.x.size());
  for (const auto& x : problem.x) {
    a += share * x[0] * x[0];
    b += share * x[0] * x[1];
    c += share * x[1] * x[1];
  }
  return (a + c) / 2 + std::hypot((a - c) / 2, b);
}

}  // namespace ignd
