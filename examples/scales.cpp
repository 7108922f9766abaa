// What the scale of the features does to SGD and to IGND at one and the same rate: the figure of the README. Prints a
// table; docs/figures draws it.
#include <cmath>
#include <cstdio>
#include <vector>

#include <ignd/ignd.hpp>

namespace {

constexpr std::size_t features = 8;
constexpr int samples = 2000;

// Mean squared error over the second half of a stream y = w.z + noise with x = phi z; -1 if the run did not survive.
// Each sample is predicted before it is learned from.
double progressive_error(const char* optimizer, double phi) {
  ignd::Linear<double> model(features, false);
  ignd::Trainer<double> trainer(
      model, {.optimizer = ignd::find_optimizer(optimizer), .schedule = ignd::Schedule::constant(0.1)});
  ignd::RandomStream stream(1, "scales");
  std::vector<double> truth(features);
  for (double& w : truth) w = stream.normal();
  double sum = 0;
  for (int i = 0; i < samples; ++i) {
    std::vector<double> x(features);
    double y = 0.1 * stream.normal();
    for (std::size_t k = 0; k < features; ++k) {
      const double z = stream.normal();
      y += truth[k] * z;
      x[k] = phi * z;
    }
    const ignd::StepInfo info = trainer.step({{x}, y});
    if (info.status != ignd::StepStatus::learned) return -1;
    if (2 * i >= samples) sum += 4 * info.loss.value / samples;  // the loss is half the square, the half half of them
  }
  return std::isfinite(sum) ? sum : -1;
}

}  // namespace

int main() {
  std::printf("# %d samples, %zu features multiplied by phi, rate 0.1; mean squared error, noise floor 0.01\n", samples,
              features);
  std::printf("%-12s %-14s %-14s\n", "phi", "sgd", "ignd");
  for (int k = -12; k <= 12; ++k) {
    const double phi = std::pow(10, k / 4.0);
    std::printf("%-12.6g", phi);
    for (const char* optimizer : {"sgd", "ignd"}) {
      const double error = progressive_error(optimizer, phi);
      if (error < 0) {
        std::printf(" %-14s", "diverged");
      } else {
        std::printf(" %-14.6g", error);
      }
    }
    std::printf("\n");
  }
}
