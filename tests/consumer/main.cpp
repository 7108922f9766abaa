// Learns y = 2x + 1 from samples in [-1, 1] and asks for the value at 3.
#include <array>
#include <cmath>
#include <cstdio>

#include <ignd/linear.hpp>
#include <ignd/trainer.hpp>
#include <ignd/version.hpp>

int main() {
  ignd::Linear<double> model(1);
  ignd::Trainer<double> trainer(model, {.schedule = ignd::Schedule::constant(1)});
  for (int i = 0; i < 300; ++i) {
    const std::array<double, 1> x{std::sin(i)};
    trainer.step({.x = {.values = x}, .y = 2 * x[0] + 1});
  }
  const std::array<double, 1> three{3};
  const double prediction = model.predict({.values = three});
  std::printf("ignd %s: f(3) = %g\n", ignd::version(), prediction);
  return std::abs(prediction - 7) < 1e-2 ? 0 : 1;
}
