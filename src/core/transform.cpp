#include "ignd/transform.hpp"

#include "base/spec.hpp"
#include "core/idle_steps.hpp"
#include "kernels/kernels.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ignd {

template <class T>
TransformState<T> Transform<T>::initial_state(std::size_t parameter_count) const {
  return TransformState<T>(state_names().size(), AlignedVector<T>(parameter_count));
}

namespace {

using kernels::Method;

struct Constants {
  Method method = Method::plain;
  double beta1 = 0, beta2 = 0, eps = 0, decay = 0;
  std::string spec = "plain";
  std::vector<std::string> state_names = {};
};

// 1 / (1 - beta^t), Adam's correction, with beta^t brought along from one t to the next.
class Correction {
 public:
  Correction(double beta, std::uint64_t t)
      : beta_(beta), power_(negligible(beta, t, 60) ? 0 : std::pow(beta, static_cast<double>(t))) {}

  // Whether beta^t is below 2^-digits: log(beta) <= beta - 1, and log(2) < 0.7.
  static bool negligible(double beta, std::uint64_t t, double digits) {
    return static_cast<double>(t) * (1 - beta) > digits * 0.7;
  }

  double operator()() const { return 1 / (1 - power_); }
  void advance() { power_ *= beta_; }

 private:
  double beta_;
  double power_;
};

// The kernels hold what a method does to one weight; this class applies it to the three forms of a block and over time.
template <class T>
class Coordinatewise final : public Transform<T> {
 public:
  explicit Coordinatewise(Constants constants)
      : constants_(std::move(constants)), root_beta2_(static_cast<T>(std::sqrt(constants_.beta2))) {}

  std::vector<std::string> state_names() const override { return constants_.state_names; }
  std::string spec() const override { return constants_.spec; }
  bool is_plain() const override { return constants_.method == Method::plain; }
  bool takes_roots() const override {
    return constants_.method != Method::plain && constants_.method != Method::momentum &&
           constants_.method != Method::nesterov;
  }
  double decay() const override { return constants_.decay; }
  bool drifts() const override { return constants_.method != Method::plain && constants_.method != Method::adagrad; }

  double apply(std::span<T> w, TransformState<T>& state, const Sensitivity<T>& j, const Sensitivity<T>& direction,
               const Step& step) const override {
    if (constants_.method == Method::plain && step.decay == 0) {
      const auto factor = static_cast<T>(-step.alpha * step.c);
      for (const auto& any : direction) {
        std::visit([&](const auto& block) { add(w.data() + block.offset, block, factor); }, any);
      }
      return -step.alpha * step.c * step.s;
    }
    const auto method = static_cast<std::size_t>(constants_.method);
    const Update update{kernels::table<T>().update[method],
                        kernels::table<T>().update_outer[method],
                        constants_at(step.t, step.alpha),
                        w.data(),
                        state,
                        static_cast<T>(step.c),
                        static_cast<T>(step.decay),
                        step.decay == 0 && !drifts()};
    double h = 0;
    for (std::size_t i = 0; i < j.size(); ++i) {
      h += std::visit([&]<class Form>(const Form& block) { return update(block, std::get<Form>(direction[i])); }, j[i]);
    }
    return h;
  }

  void sum_idle_steps(std::uint64_t first, std::uint64_t last, const Schedule& schedule,
                      IdleSteps<T>& steps) const override {
    const auto count = static_cast<double>(last - first + 1);
    const Constants& c = constants_;
    if (!drifts()) return;
    const bool was_stationary = steps.stationary;
    steps.stationary = schedule.is_constant_from(first) && corrections_are_one(first);
    steps.shrink[0] = static_cast<T>(std::pow(c.beta1, count));
    steps.shrink[1] = static_cast<T>(std::pow(c.method == Method::adam ? root_beta2_ : c.beta1, count));
    if (c.method == Method::momentum || c.method == Method::nesterov) {
      steps.from_state =
          static_cast<T>(sum_of_rates(first, last, schedule) * (c.method == Method::nesterov ? c.beta1 : 1));
    } else if (c.method == Method::adam) {
      sum_adam(first, last, schedule, was_stationary && steps.stationary, steps);
    }
  }

  void prepend_idle_step(std::uint64_t t, const Schedule& schedule, const IdleSteps<T>& later,
                         IdleSteps<T>& steps) const override {
    const Constants& c = constants_;
    if (!drifts()) return;
    const double alpha = schedule.rate(t);
    const auto beta1 = static_cast<T>(c.beta1);
    steps.stationary = schedule.is_constant_from(t) && corrections_are_one(t);
    steps.shrink[0] = beta1 * later.shrink[0];
    if (c.method != Method::adam) {
      steps.shrink[1] = beta1 * later.shrink[1];
      if (c.method == Method::momentum || c.method == Method::nesterov) {
        const double own = c.method == Method::momentum ? alpha : alpha * c.beta1;
        steps.from_state = beta1 * (static_cast<T>(own) + later.from_state);
      }
      return;
    }
    const bool settled = corrections_are_one(t);
    const double root = settled ? root_beta2_ : root_beta2_ * std::sqrt(Correction(beta2(), t)());
    const double factor = (settled ? 1 : Correction(c.beta1, t)()) * alpha * c.beta1 * static_cast<double>(later.keep);
    steps.eps = static_cast<T>(c.eps);
    steps.keep = later.keep * static_cast<T>(1 - alpha * c.decay);
    steps.shrink[1] = static_cast<T>(root_beta2_) * later.shrink[1];
    double ratio = c.beta1;
    double term = factor;
    for (std::size_t n = 0; n < 3; ++n) {
      ratio /= root_beta2_;
      term /= root;
      steps.series[n] = static_cast<T>(term + ratio * static_cast<double>(later.series[n]));
    }
    steps.factor.assign(1, static_cast<T>(factor));
    steps.root.assign(1, static_cast<T>(root));
    for (const T f : later.factor) steps.factor.push_back(beta1 * f);
    for (const T r : later.root) steps.root.push_back(static_cast<T>(root_beta2_) * r);
    set_limit(steps);
  }

  void idle(std::span<T> w, TransformState<T>& state, std::size_t offset, std::size_t count,
            const IdleSteps<T>& steps) const override {
    const auto& kernel = kernels::table<T>();
    const kernels::Weights<T> at = weights(w.data(), state, offset);
    if (constants_.method == Method::adam) {
      kernel.adam_idle({.factor = steps.factor,
                        .root = steps.root,
                        .series = {steps.series[0], steps.series[1], steps.series[2]},
                        .limit = steps.limit,
                        .eps = steps.eps,
                        .keep = steps.keep,
                        .beta1_k = steps.shrink[0],
                        .root_beta2_k = steps.shrink[1]},
                       at, count);
      return;
    }
    if (steps.from_state != T{0}) kernel.add(at.w, at.a, count, -steps.from_state);
    if (at.a != nullptr) kernel.shrink(at.a, count, steps.shrink[0]);
    if (at.b != nullptr) kernel.shrink(at.b, count, steps.shrink[1]);
  }

 private:
  static kernels::Weights<T> weights(T* w, TransformState<T>& state, std::size_t offset) {
    return {w + offset, state.empty() ? nullptr : state[0].data() + offset,
            state.size() < 2 ? nullptr : state[1].data() + offset};
  }

  kernels::StepConstants<T> constants_at(std::uint64_t t, double alpha) const {
    const Constants& c = constants_;
    kernels::StepConstants<T> step{.alpha = static_cast<T>(alpha),
                                   .beta1 = static_cast<T>(c.beta1),
                                   .root_beta2 = static_cast<T>(root_beta2_),
                                   .eps = static_cast<T>(c.eps),
                                   .decay = static_cast<T>(c.decay)};
    if (c.method == Method::adam && !corrections_are_one(t)) {
      step.correction1 = static_cast<T>(Correction(c.beta1, t)());
      step.root2 = static_cast<T>(std::sqrt(Correction(beta2(), t)()));
    }
    return step;
  }

  double beta2() const { return root_beta2_ * root_beta2_; }

  bool corrections_are_one(std::uint64_t t) const {
    if (constants_.method != Method::adam) return true;
    constexpr double digits = std::numeric_limits<T>::digits + 2;
    return Correction::negligible(std::max(constants_.beta1, beta2()), t, digits);
  }

  // Relative to the first term: a smaller one is dropped, together with all that follow.
  static constexpr double negligible = std::numeric_limits<T>::epsilon() * 1e-3;

  // sum_i alpha_i beta^i, i = 1 for the first of the steps
  double sum_of_rates(std::uint64_t first, std::uint64_t last, const Schedule& schedule) const {
    double sum = 0;
    double power = 1;
    for (std::uint64_t t = first; t <= last && power > negligible * (1 - constants_.beta1); ++t) {
      power *= constants_.beta1;
      sum += schedule.rate(t) * power;
    }
    return sum;
  }

  void sum_adam(std::uint64_t first, std::uint64_t last, const Schedule& schedule, bool same_terms,
                IdleSteps<T>& steps) const {
    const Constants& c = constants_;
    double kept = total_decay(first, last, schedule);
    steps.keep = static_cast<T>(kept);
    steps.eps = static_cast<T>(c.eps);
    if (same_terms && steps.complete && c.decay == 0 && last - first >= steps.factor.size()) return;
    const bool settled = corrections_are_one(first);  // exactly 1: a sum stays valid at any later time
    Correction correction1(c.beta1, first);
    Correction correction2(beta2(), first);
    steps.factor.clear();
    steps.root.clear();
    double series[3] = {};
    double moment1 = 1;
    double root_moment2 = 1;
    const double ratio = c.beta1 == 0 ? 0 : c.beta1 / root_beta2_;
    double share = 1;
    std::uint64_t t = first;
    for (; t <= last && share > negligible * (1 - ratio); ++t) {
      const double alpha = schedule.rate(t);
      moment1 *= c.beta1;
      root_moment2 *= root_beta2_;
      share *= ratio;
      kept /= 1 - alpha * c.decay;  // what the steps after this one leave of a change
      const double factor = (settled ? 1 : correction1()) * alpha * moment1 * kept;
      const double root = settled ? root_moment2 : std::sqrt(correction2()) * root_moment2;
      steps.factor.push_back(static_cast<T>(factor));
      steps.root.push_back(static_cast<T>(root));
      double term = factor;
      for (double& sum : series) sum += term /= root;
      correction1.advance();
      correction2.advance();
    }
    for (std::size_t n = 0; n < 3; ++n) steps.series[n] = static_cast<T>(series[n]);
    steps.complete = t <= last;
    set_limit(steps);
  }

  // The expansion is in eps / (root b), and the last root is the smallest.
  static void set_limit(IdleSteps<T>& steps) {
    steps.limit = std::isfinite(steps.series[2]) ? kernels::series_limit<T> * steps.root.back() : T{0};
  }

  // The product of 1 - alpha_t decay.
  double total_decay(std::uint64_t first, std::uint64_t last, const Schedule& schedule) const {
    if (constants_.decay == 0) return 1;
    if (schedule.is_constant_from(first)) {
      return std::pow(1 - schedule.rate(first) * constants_.decay, static_cast<double>(last - first + 1));
    }
    double product = 1;
    for (std::uint64_t t = first; t <= last; ++t) product *= 1 - schedule.rate(t) * constants_.decay;
    return product;
  }

  static void add(T* w, const Outer<T>& d, T factor) {
    kernels::table<T>().add_outer(w, d.u.data(), d.active, d.v.data(), d.v.size(), factor);
  }
  static void add(T* w, const Dense<T>& d, T factor) { kernels::table<T>().add(w, d.j.data(), d.j.size(), factor); }
  static void add(T* w, const SparseRows<T>& d, T factor) {
    if (d.width == 1) {  // too short for one call per row
      kernels::table<T>().scatter_add(w, d.index.data(), d.rows.data(), d.index.size(), factor);
      return;
    }
    for (std::size_t i = 0; i < d.index.size(); ++i) {
      kernels::table<T>().add(w + d.index[i] * d.width, d.rows.data() + i * d.width, d.width, factor);
    }
  }

  // One step at work on the blocks: j is the sensitivity, d the direction, equal but for a preconditioner's factors.
  struct Update {
    typename kernels::Kernels<T>::Update* kernel;
    typename kernels::Kernels<T>::UpdateOuter* outer_kernel;
    kernels::StepConstants<T> constants;
    T* w;
    TransformState<T>& state;
    T c, decay;
    bool zero_rows_rest;  // a row without direction does not change

    double run(std::size_t offset, const T* j, const T* d, T factor, std::size_t n) const {
      return kernel(constants, weights(w, state, offset), j, d, factor, decay, n);
    }

    double operator()(const Outer<T>& j, const Outer<T>& d) const {
      const bool active_only = zero_rows_rest || j.rows_wait;
      return outer_kernel(constants, weights(w, state, j.offset), j.u.data(), d.u.data(),
                          active_only ? j.active.data() : nullptr, active_only ? j.active.size() : j.u.size(),
                          j.v.data(), j.v.size(), c, decay);
    }

    double operator()(const Dense<T>& j, const Dense<T>& d) const {
      return run(j.offset, j.j.data(), d.j.data(), c, j.j.size());
    }

    double operator()(const SparseRows<T>& j, const SparseRows<T>& d) const {
      double h = 0;
      for (std::size_t i = 0; i < j.index.size(); ++i) {
        h += run(j.offset + j.index[i] * j.width, j.rows.data() + i * j.width, d.rows.data() + i * j.width, c, j.width);
      }
      return h;
    }
  };

  Constants constants_;
  double root_beta2_;  // rounded as the kernels have it: idle steps summed up agree with idle steps taken
};

constexpr double below_one = 1 - std::numeric_limits<double>::epsilon();
constexpr double largest = std::numeric_limits<double>::max();

Constants adam_constants(Spec& spec) {
  const double beta1 = spec.number("beta1", 0.9, 0, below_one);
  const double beta2 = spec.number("beta2", 0.999, 0, below_one);
  const double eps = spec.number("eps", 1e-8, 0, largest);
  return {.method = Method::adam,
          .beta1 = beta1,
          .beta2 = beta2,
          .eps = eps,
          .spec = fmt::format("{}:beta1={},beta2={},eps={}", spec.name(), beta1, beta2, eps),
          .state_names = {"first-moment", "root-of-second-moment"}};
}

Constants constants_from(Spec& spec) {
  const std::string& name = spec.name();
  if (name == "plain") return {};
  if (name == "momentum" || name == "nesterov") {
    const double beta = spec.number("beta", 0.9, 0, below_one);
    return {.method = name == "momentum" ? Method::momentum : Method::nesterov,
            .beta1 = beta,
            .spec = fmt::format("{}:beta={}", name, beta),
            .state_names = {"velocity"}};
  }
  if (name == "adagrad") {
    const double eps = spec.number("eps", 1e-10, 0, largest);
    return {.method = Method::adagrad,
            .eps = eps,
            .spec = fmt::format("adagrad:eps={}", eps),
            .state_names = {"sum-of-squares"}};
  }
  if (name == "rmsprop" || name == "adadelta") {
    const bool rmsprop = name == "rmsprop";
    const double rho = spec.number("rho", rmsprop ? 0.9 : 0.95, 0, below_one);
    const double eps = spec.number("eps", rmsprop ? 1e-8 : 1e-6, 0, largest);
    Constants constants{.method = rmsprop ? Method::rmsprop : Method::adadelta,
                        .beta1 = rho,
                        .eps = eps,
                        .spec = fmt::format("{}:rho={},eps={}", name, rho, eps),
                        .state_names = {"mean-square"}};
    if (!rmsprop) constants.state_names.emplace_back("mean-square-step");
    return constants;
  }
  if (name == "adam") return adam_constants(spec);
  if (name == "adamw") {
    Constants constants = adam_constants(spec);
    constants.decay = spec.number("decay", 0.01, 0, largest);
    constants.spec += fmt::format(",decay={}", constants.decay);
    return constants;
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
  Constants constants = constants_from(spec);
  spec.finish();
  return std::make_shared<Coordinatewise<T>>(std::move(constants));
}

template class Transform<float>;
template class Transform<double>;
template std::shared_ptr<const Transform<float>> make_transform(std::string_view);
template std::shared_ptr<const Transform<double>> make_transform(std::string_view);

}  // namespace ignd
