#include "ignd/transform.hpp"

#include "core/spec.hpp"
#include "kernels/update.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ignd {

template <class T>
TransformState<T> Transform<T>::initial_state(std::size_t parameter_count) const {
  return TransformState<T>(state_names().size(), AlignedVector<T>(parameter_count));
}

namespace {

// The constants of each transform. step(at) prepares what one step needs; what it does to a weight is in kernels.

struct Plain {
  std::vector<std::string> state_names() const { return {}; }
  std::string spec() const { return "plain"; }
  template <class T>
  kernels::PlainStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha)};
  }
};

struct Momentum {
  double beta;
  std::vector<std::string> state_names() const { return {"velocity"}; }
  std::string spec() const { return fmt::format("momentum:beta={}", beta); }
  template <class T>
  kernels::MomentumStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha), static_cast<T>(beta)};
  }
};

struct Nesterov {
  double beta;
  std::vector<std::string> state_names() const { return {"velocity"}; }
  std::string spec() const { return fmt::format("nesterov:beta={}", beta); }
  template <class T>
  kernels::NesterovStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha), static_cast<T>(beta)};
  }
};

struct AdaGrad {
  double eps;
  std::vector<std::string> state_names() const { return {"sum-of-squares"}; }
  std::string spec() const { return fmt::format("adagrad:eps={}", eps); }
  template <class T>
  kernels::AdaGradStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha), static_cast<T>(eps)};
  }
};

struct RmsProp {
  double rho, eps;
  std::vector<std::string> state_names() const { return {"mean-square"}; }
  std::string spec() const { return fmt::format("rmsprop:rho={},eps={}", rho, eps); }
  template <class T>
  kernels::RmsPropStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha), static_cast<T>(rho), static_cast<T>(eps)};
  }
};

struct AdaDelta {
  double rho, eps;
  std::vector<std::string> state_names() const { return {"mean-square", "mean-square-step"}; }
  std::string spec() const { return fmt::format("adadelta:rho={},eps={}", rho, eps); }
  template <class T>
  kernels::AdaDeltaStep<T> step(StepAt at) const {
    return {static_cast<T>(at.alpha), static_cast<T>(rho), static_cast<T>(eps)};
  }
};

struct Adam {
  double beta1, beta2, eps;
  double decay = 0;
  bool decoupled = false;  // AdamW
  std::vector<std::string> state_names() const { return {"first-moment", "second-moment"}; }
  std::string spec() const {
    const std::string common = fmt::format("beta1={},beta2={},eps={}", beta1, beta2, eps);
    return decoupled ? fmt::format("adamw:{},decay={}", common, decay) : "adam:" + common;
  }
  template <class T>
  kernels::AdamStep<T> step(StepAt at) const {
    const auto correction = [&](double beta) { return 1 / (1 - std::pow(beta, static_cast<double>(at.t))); };
    return {static_cast<T>(at.alpha),
            static_cast<T>(beta1),
            static_cast<T>(beta2),
            static_cast<T>(eps),
            static_cast<T>(correction(beta1)),
            static_cast<T>(correction(beta2)),
            static_cast<T>(decay)};
  }
};

// Carries a transform's constants through the three forms of a block.
template <class T, class Constants>
class Coordinatewise final : public Transform<T> {
 public:
  explicit Coordinatewise(Constants constants) : constants_(constants) {}

  std::vector<std::string> state_names() const override { return constants_.state_names(); }
  std::string spec() const override { return constants_.spec(); }
  bool drifts() const override { return Step::drifts; }

  double apply(std::span<T> w, TransformState<T>& state, const Sensitivity<T>& j, const Sensitivity<T>& direction,
               double c, double decay, StepAt at) const override {
    const Update update{constants_.template step<T>(at), w, state, static_cast<T>(c), static_cast<T>(decay)};
    double h = 0;
    for (std::size_t i = 0; i < j.size(); ++i) {
      h += std::visit([&]<class Form>(const Form& block) { return update(block, std::get<Form>(direction[i])); }, j[i]);
    }
    return h;
  }

  void idle(std::span<T> w, TransformState<T>& state, std::size_t offset, std::size_t count, StepAt at) const override {
    kernels::idle(constants_.template step<T>(at), w.data() + offset, pointers(state, offset), count);
  }

 private:
  using Step = decltype(std::declval<Constants>().template step<T>(StepAt{}));

  static kernels::StatePointers<T, Step::slots> pointers(TransformState<T>& state, std::size_t offset) {
    kernels::StatePointers<T, Step::slots> at;
    for (std::size_t i = 0; i < Step::slots; ++i) at[i] = state[i].data() + offset;
    return at;
  }

  // One step at work on the blocks: j is the sensitivity, d the direction, equal but for a metric's factors.
  struct Update {
    Step step;
    std::span<T> w;
    TransformState<T>& state;
    T c, decay;

    double run(std::size_t offset, std::span<const T> j, std::span<const T> d, T factor) const {
      return kernels::update(step, w.data() + offset, pointers(state, offset), j.data(), d.data(), factor, decay,
                             j.size());
    }

    double operator()(const Outer<T>& j, const Outer<T>& d) const {
      double h = 0;
      for (std::size_t r = 0; r < j.u.size(); ++r) {
        const T factor = c * d.u[r];
        // An inactive input leaves its row alone, unless the transform or the objective moves it all the same.
        if (factor == T{0} && decay == T{0} && !Step::drifts) continue;
        h += static_cast<double>(j.u[r]) * run(j.offset + r * j.v.size(), j.v, d.v, factor);
      }
      return h;
    }

    double operator()(const Dense<T>& j, const Dense<T>& d) const { return run(j.offset, j.j, d.j, c); }

    double operator()(const Rows<T>& j, const Rows<T>& d) const {
      double h = 0;
      for (std::size_t i = 0; i < j.index.size(); ++i) {
        h += run(j.offset + j.index[i] * j.width, j.rows.subspan(i * j.width, j.width),
                 d.rows.subspan(i * j.width, j.width), c);
      }
      return h;
    }
  };

  Constants constants_;
};

template <class T, class Constants>
std::shared_ptr<const Transform<T>> make(Constants constants) {
  return std::make_shared<Coordinatewise<T, Constants>>(constants);
}

constexpr double below_one = 1 - std::numeric_limits<double>::epsilon();
constexpr double largest = std::numeric_limits<double>::max();

Adam adam_constants(Spec& spec) {
  const double beta1 = spec.number("beta1", 0.9, 0, below_one);
  const double beta2 = spec.number("beta2", 0.999, 0, below_one);
  return {beta1, beta2, spec.number("eps", 1e-8, 0, largest)};
}

template <class T>
std::shared_ptr<const Transform<T>> from_spec(Spec& spec) {
  const std::string& name = spec.name();
  if (name == "plain") return make<T>(Plain{});
  if (name == "momentum") return make<T>(Momentum{spec.number("beta", 0.9, 0, below_one)});
  if (name == "nesterov") return make<T>(Nesterov{spec.number("beta", 0.9, 0, below_one)});
  if (name == "adagrad") return make<T>(AdaGrad{spec.number("eps", 1e-10, 0, largest)});
  if (name == "rmsprop") {
    const double rho = spec.number("rho", 0.9, 0, below_one);
    return make<T>(RmsProp{rho, spec.number("eps", 1e-8, 0, largest)});
  }
  if (name == "adadelta") {
    const double rho = spec.number("rho", 0.95, 0, below_one);
    return make<T>(AdaDelta{rho, spec.number("eps", 1e-6, 0, largest)});
  }
  if (name == "adam") return make<T>(adam_constants(spec));
  if (name == "adamw") {
    Adam adam = adam_constants(spec);
    adam.decay = spec.number("decay", 0.01, 0, largest);
    adam.decoupled = true;
    return make<T>(adam);
  }
  spec.refuse_name(transform_names());
}

}  // namespace

std::vector<std::string> transform_names() {
  return {"plain", "momentum", "nesterov", "adagrad", "rmsprop", "adadelta", "adam", "adamw"};
}

template <class T>
std::shared_ptr<const Transform<T>> make_transform(std::string_view text) {
  Spec spec("transform", text);
  auto transform = from_spec<T>(spec);
  spec.finish();
  return transform;
}

template class Transform<float>;
template class Transform<double>;
template std::shared_ptr<const Transform<float>> make_transform(std::string_view);
template std::shared_ptr<const Transform<double>> make_transform(std::string_view);

}  // namespace ignd
