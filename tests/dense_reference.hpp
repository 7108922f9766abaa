#pragma once

#include "support.hpp"

#include <algorithm>
#include <limits>

// The method as a textbook has it: dense vectors, every weight updated at every step, nothing lazy, nothing in blocks.
// The library must give the same numbers.
namespace ignd::testing {

struct ReferenceOptions {
  std::shared_ptr<const Loss> loss = make_loss("squared");
  std::string rule = "gauss-newton";  // by name, with the library's default constants
  std::string transform = "plain";
  Schedule schedule = Schedule::constant(0.1);
  double l2 = 0;
  bool preconditioner = false;
  std::uint64_t average_from = 0;
};

class DenseReference {
 public:
  using Vector = std::vector<double>;

  DenseReference(const Model<double>& model, std::size_t inputs, ReferenceOptions options)
      : model_(model.clone()), options_(std::move(options)), inputs_(inputs) {
    const std::size_t n = model_->parameters().size();
    a_.resize(n), b_.resize(n), average_.resize(n);
    sum_of_squares_.resize(inputs), seen_.resize(inputs);
  }

  Vector weights() const { return {model_->parameters().begin(), model_->parameters().end()}; }
  const Vector& average() const { return average_; }
  double h() const { return h_; }

  // x is the input as a dense vector, whatever form the model reads.
  void step(const Input<double>& x, const Vector& dense, double y) {
    ++t_;
    const double f = model_->predict(x);
    const Vector j = flat_sensitivity(*model_, x);
    const Vector p = preconditioner(dense);
    double s = 0;
    for (std::size_t i = 0; i < j.size(); ++i) s += j[i] * p[i] * j[i];
    const double xi = scale(options_.loss->at(y, f), y, s);
    const double lf = options_.loss->at(y, f).d1;
    const auto w = model_->parameters();
    h_ = 0;
    for (std::size_t i = 0; i < j.size(); ++i) {
      const double before = w[i];
      w[i] = moved(i, before, xi * (lf * p[i] * j[i] + options_.l2 * before));
      h_ += j[i] * (w[i] - before);
    }
    if (options_.average_from != 0 && t_ >= options_.average_from) {
      const double n = static_cast<double>(t_ - options_.average_from + 1);
      for (std::size_t i = 0; i < j.size(); ++i) average_[i] = (average_[i] * (n - 1) + w[i]) / n;
    }
  }

 private:
  // The diagonal of P, one entry per weight: an input's weights follow each other, the bias comes after them.
  Vector preconditioner(const Vector& dense) {
    Vector p(model_->parameters().size(), 1);
    if (!options_.preconditioner) return p;
    const std::size_t per_input = first_layer_width();
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (dense[i] != 0) {
        sum_of_squares_[i] += dense[i] * dense[i];
        seen_[i] += 1;
      }
      for (std::size_t k = 0; k < per_input; ++k) {
        p[i * per_input + k] = seen_[i] > 0 ? seen_[i] / sum_of_squares_[i] : 1;
      }
    }
    return p;
  }

  std::size_t first_layer_width() const {
    Trace<double> trace(*model_);
    const auto* outer = std::get_if<Outer<double>>(&trace.j[0]);
    return outer == nullptr ? 1 : outer->v.size();
  }

  double scale(const LossAt& l, double y, double s) {
    const double norm = std::abs(l.d1) * std::sqrt(s);
    if (options_.rule == "gradient") return 1;
    if (options_.rule == "normalized") return 1 / (norm + 1e-8);
    if (options_.rule == "polyak") return norm == 0 ? 0 : (l.value - options_.loss->minimum(y)) / (0.5 * norm * norm);
    const double floor = options_.loss->curvature_floor();
    if (options_.rule == "relative") {  // fewer steps than its memory
      sum_of_curvatures_ += (l.d2 + floor) * s;
      return 1 / ((l.d2 + floor) * s + sum_of_curvatures_ / static_cast<double>(t_) + options_.l2);
    }
    return 1 / ((l.d2 + floor) * s + 1e-5 + options_.l2);
  }

  double moved(std::size_t i, double w, double g) {
    const double alpha = options_.schedule.rate(t_);
    const double t = static_cast<double>(t_);
    const std::string& name = options_.transform;
    double& a = a_[i];
    double& b = b_[i];
    if (name == "plain") return w - alpha * g;
    if (name == "momentum") return w - alpha * (a = 0.9 * a + g);
    if (name == "nesterov") {
      a = 0.9 * a + g;
      return w - alpha * (g + 0.9 * a);
    }
    if (name == "adagrad") return w - alpha * g / (std::sqrt(a += g * g) + 1e-10);
    if (name == "rmsprop") return w - alpha * g / (std::sqrt(a = 0.9 * a + 0.1 * g * g) + 1e-8);
    if (name == "adadelta") {
      a = 0.95 * a + 0.05 * g * g;
      const double step = std::sqrt(b + 1e-6) / std::sqrt(a + 1e-6) * g;
      b = 0.95 * b + 0.05 * step * step;
      return w - alpha * step;
    }
    a = 0.9 * a + 0.1 * g;
    b = 0.999 * b + 0.001 * g * g;
    const double first = a / (1 - std::pow(0.9, t));
    const double second = b / (1 - std::pow(0.999, t));
    const double decay = name == "adamw" ? 0.01 : 0;
    return w - alpha * decay * w - alpha * first / (std::sqrt(second) + 1e-8);
  }

  std::unique_ptr<Model<double>> model_;
  ReferenceOptions options_;
  std::size_t inputs_;
  std::uint64_t t_ = 0;
  double h_ = 0;
  double sum_of_curvatures_ = 0;
  Vector a_, b_, average_, sum_of_squares_, seen_;
};

// The library's run of the same options.
inline TrainerOptions library_options(const ReferenceOptions& options) {
  return {.loss = options.loss,
          .optimizer = {options.rule, options.transform},
          .schedule = options.schedule,
          .l2 = options.l2,
          .preconditioner = options.preconditioner ? PreconditionerKind::second_moment : PreconditionerKind::identity,
          .average_from = options.average_from};
}

// A random sample in the form the model reads, with its dense equivalent. Half of the inputs are zero.
struct RandomInput {
  std::vector<double> dense;
  std::vector<double> values;
  std::vector<std::uint32_t> index;

  RandomInput(RandomStream& stream, std::size_t inputs, bool sparse) : dense(inputs) {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (stream.below(2) == 0) continue;
      dense[i] = stream.normal();
      if (sparse) {
        values.push_back(dense[i]);
        index.push_back(static_cast<std::uint32_t>(i));
      }
    }
    if (!sparse) values = dense;
  }

  Input<double> input() const { return {values, index}; }
};

// The largest difference of two vectors, relative to the larger of 1 and their entries.
inline double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max({1.0, std::abs(a[i]), std::abs(b[i])});
    // Written so that a NaN counts as different.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace ignd::testing
