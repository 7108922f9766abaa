// Three classes of points in the plane, learned 16 points at a time by exact damped Gauss-Newton steps of the softmax
// loss. Prints how many of 300 new points are told right, and the probabilities of one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include <ignd/ignd.hpp>

namespace {

struct Point {
  std::array<float, 2> x;
  double label;
};

// Around the corners of a triangle.
Point draw(ignd::RandomStream& stream) {
  constexpr double third = 2.0943951;
  const auto label = static_cast<double>(stream.below(3));
  const double x = 2 * std::cos(third * label) + stream.normal(), y = 2 * std::sin(third * label) + stream.normal();
  return {{static_cast<float>(x), static_cast<float>(y)}, label};
}

std::array<double, 3> probabilities(std::span<const float> logits) {
  std::array<double, 3> p{};
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (std::size_t c = 0; c < p.size(); ++c) sum += p[c] = std::exp(logits[c] - largest);
  for (double& share : p) share /= sum;
  return p;
}

}  // namespace

int main() {
  ignd::Mlp<float> model({2, 16}, {.seed = 1, .outputs = 3});
  ignd::BatchTrainer<float> trainer(model, {.loss = ignd::make_vector_loss("softmax"),
                                            .schedule = ignd::Schedule::constant(0.5),
                                            .batch = {.size = 16, .mode = ignd::BatchMode::exact, .lambda = 0.1}});
  ignd::RandomStream stream(1, "points");
  std::array<Point, 16> points{};
  std::array<ignd::Sample<float>, 16> samples;
  for (int step = 0; step < 300; ++step) {
    for (std::size_t k = 0; k < points.size(); ++k) {
      points[k] = draw(stream);
      samples[k] = {{points[k].x}, points[k].label};
    }
    trainer.step(samples);
  }

  // Several outputs are read as they are learned, in batches: of one point here.
  const auto reader = model.make_batch(1);
  int right = 0;
  std::array<double, 3> p{};
  for (int k = 0; k < 300; ++k) {
    const Point point = draw(stream);
    const ignd::Input<float> input{point.x};
    p = probabilities(reader->forward({&input, 1}, nullptr));
    right += std::max_element(p.begin(), p.end()) - p.begin() == static_cast<std::ptrdiff_t>(point.label) ? 1 : 0;
  }
  std::printf("%d of 300 right; the last point: %.2f %.2f %.2f\n", right, p[0], p[1], p[2]);
}
