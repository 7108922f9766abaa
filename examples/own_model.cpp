// A model of your own: exponential decay f = a exp(-b t). Say what f is and what its derivatives are; every loss, rule
// and transform works with it.
#include <cmath>
#include <cstdio>
#include <vector>

#include <ignd/ignd.hpp>

using ignd::Input;
using ignd::Trace;

class Decay final : public ignd::Model<double> {
 public:
  Decay() : Model(2) { parameters()[0] = parameters()[1] = 1; }
  std::string spec() const override { return "decay"; }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Decay>(*this); }
  void check(const Input<double>& x) const override { check_dense(x, 1); }
  void prepare(Trace<double>& trace) const override {
    trace.scratch.resize(2);
    trace.j = {ignd::Dense<double>{0, trace.scratch}};
  }
  double forward(const Input<double>& x, Trace<double>& /*trace*/) const override {
    return parameters()[0] * std::exp(-parameters()[1] * x.values[0]);
  }
  void sensitivity(const Input<double>& x, Trace<double>& trace) const override {
    trace.scratch[0] = std::exp(-parameters()[1] * x.values[0]);
    trace.scratch[1] = -parameters()[0] * x.values[0] * trace.scratch[0];
  }
};

int main() {
  Decay model;
  const auto report = ignd::check_model<double>(model, 1);  // compares sensitivity() with differences of forward()
  std::printf("%s\n", report.text.c_str());
  if (!report.ok) return 1;
  ignd::Trainer<double> trainer(model, {.schedule = ignd::Schedule::constant(0.5)});
  ignd::RandomStream stream(1, "data");
  for (int i = 0; i < 5000; ++i) {
    const std::vector<double> t{stream.uniform(0, 4)};
    trainer.step({{t}, 3 * std::exp(-0.7 * t[0])});
  }
  std::printf("f = %.3f exp(-%.3f t)\n", model.parameters()[0], model.parameters()[1]);
}
