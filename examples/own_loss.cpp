// A loss of your own: successes out of ten trials, with f the log-odds of one.
#include <cmath>
#include <cstdio>
#include <vector>

#include <ignd/ignd.hpp>

class TenTrials final : public ignd::Loss {
 public:
  ignd::LossAt at(double y, double f) const override {
    const double p = 1 / (1 + std::exp(-f));
    const double value = 10 * std::log1p(std::exp(f)) - y * f;
    return {value, 10 * p - y, 10 * p * (1 - p)};  // and the first and second derivative in f
  }
  double curvature_floor() const override { return 0.1; }  // eps_c, for where p is almost 0 or 1
  std::string spec() const override { return "ten-trials"; }
};

int main() {
  const std::vector<double> targets{0, 3, 10};
  const auto report = ignd::check_loss(TenTrials(), targets);  // compares l_f and l_ff with differences
  std::printf("%s\n", report.text.c_str());
  if (!report.ok) return 1;
  ignd::Linear<double> model(1);
  ignd::Trainer<double> trainer(
      model, {.loss = std::make_shared<TenTrials>(), .schedule = ignd::Schedule::robbins_monro(0.5, 100)});
  ignd::RandomStream stream(1, "data");
  for (int i = 0; i < 20000; ++i) {
    const std::vector<double> x{stream.uniform(-2, 2)};
    const double p = 1 / (1 + std::exp(1 - 2 * x[0]));
    double successes = 0;
    for (int trial = 0; trial < 10; ++trial) successes += stream.uniform() < p ? 1 : 0;
    trainer.step({{x}, successes});
  }
  std::printf("log-odds = %.2f x + %.2f\n", model.parameters()[0], model.parameters()[1]);
}
