// A loss that weighs one side more: the 0.9-expectile, which costs nine times as much below the targets as above them.
// The weight belongs into l_f. In l_ff it would cancel, since Gauss-Newton steps divide by l_ff: there stands the
// larger of the two weights, whichever side the output is on.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <ignd/ignd.hpp>

class Expectile final : public ignd::Loss {
 public:
  explicit Expectile(double tau) : tau_(tau) {}
  ignd::LossAt at(double y, double f) const override {
    const double e = f - y;
    const double weight = e < 0 ? tau_ : 1 - tau_;
    return {weight * e * e / 2, weight * e, std::max(tau_, 1 - tau_)};
  }
  std::string spec() const override { return "expectile"; }

 private:
  double tau_;
};

int main() {
  // The targets are 2 x + 1 and normal noise of deviation 1, whose 0.9-expectile is 0.86.
  ignd::Linear<double> model(1);
  ignd::Trainer<double> trainer(
      model, {.loss = std::make_shared<Expectile>(0.9), .schedule = ignd::Schedule::robbins_monro(0.5, 100)});
  ignd::RandomStream stream(1, "data");
  for (int i = 0; i < 50000; ++i) {
    const std::vector<double> x{stream.uniform(-2, 2)};
    trainer.step({{x}, 2 * x[0] + 1 + stream.normal()});
  }
  std::printf("0.9-expectile = %.2f x + %.2f\n", model.parameters()[0], model.parameters()[1]);
}
