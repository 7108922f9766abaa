#include "ignd/vector_loss.hpp"

#include "base/spec.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

class Softmax final : public VectorLoss {
 public:
  std::size_t targets(std::size_t outputs) const override {
    if (outputs < 2) throw InvalidArgument("the softmax loss needs a model with one output per class, at least two");
    return 1;
  }

  double at(std::span<const double> y, std::span<const double> f, std::span<double> d1,
            std::span<double> d2) const override {
    const std::size_t classes = f.size();
    const auto label = static_cast<std::size_t>(y[0]);
    const double largest_logit = *std::max_element(f.begin(), f.end());
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += d1[c] = std::exp(f[c] - largest_logit);
    // Relative to the label's own logit, a loss near zero keeps its precision.
    double others = 0;
    for (std::size_t c = 0; c < classes; ++c) others += c == label ? 0 : d1[c];
    const double value = f[label] == largest_logit ? std::log1p(others) : std::log(sum) + largest_logit - f[label];
    for (std::size_t r = 0; r < classes; ++r) d1[r] /= sum;
    for (std::size_t r = 0; r < classes && !d2.empty(); ++r) {
      for (std::size_t c = 0; c < classes; ++c) d2[r * classes + c] = -d1[r] * d1[c];
      d2[r * classes + r] = d1[r] * (sum_without(d1, r));
    }
    d1[label] = -sum_without(d1, label);
    return value;
  }

  double curvature_floor() const override { return 1e-2; }

  void check_target(std::span<const double> y, std::size_t outputs) const override {
    const double label = y[0];
    if (!(label >= 0 && label < static_cast<double>(outputs) && label == std::floor(label))) {
      throw BadSample(fmt::format("the target is {}; softmax with {} outputs needs a class from 0 to {}", label,
                                  outputs, outputs - 1));
    }
  }

  Link link() const override { return Link::softmax; }
  std::string spec() const override { return "softmax"; }

 private:
  // 1 - p[k], without the difference of nearly equal numbers.
  static double sum_without(std::span<const double> p, std::size_t k) {
    double sum = 0;
    for (std::size_t c = 0; c < p.size(); ++c) sum += c == k ? 0 : p[c];
    return sum;
  }
};

class SquaredVector final : public VectorLoss {
 public:
  std::size_t targets(std::size_t outputs) const override { return outputs; }

  double at(std::span<const double> y, std::span<const double> f, std::span<double> d1,
            std::span<double> d2) const override {
    double value = 0;
    std::fill(d2.begin(), d2.end(), 0.0);
    for (std::size_t c = 0; c < f.size(); ++c) {
      d1[c] = f[c] - y[c];
      if (!d2.empty()) d2[c * f.size() + c] = 1;
      value += d1[c] * d1[c] / 2;
    }
    return value;
  }

  void check_target(std::span<const double> y, std::size_t /*outputs*/) const override {
    for (const double number : y) {
      if (!std::isfinite(number)) {
        throw BadSample(fmt::format("a target is {}; squared needs finite numbers", number));
      }
    }
  }

  bool is_squared_error() const override { return true; }
  std::string spec() const override { return "squared"; }
};

class OneOutput final : public VectorLoss {
 public:
  explicit OneOutput(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)) {}

  std::size_t targets(std::size_t outputs) const override {
    if (outputs == 1) return 1;
    throw InvalidArgument(fmt::format("the loss '{}' takes one output, but the model has {}", loss_->spec(), outputs));
  }

  double at(std::span<const double> y, std::span<const double> f, std::span<double> d1,
            std::span<double> d2) const override {
    const LossAt at = loss_->at(y[0], f[0]);
    d1[0] = at.d1;
    if (!d2.empty()) d2[0] = at.d2;
    return at.value;
  }

  double curvature_floor() const override { return loss_->curvature_floor(); }
  double minimum(std::span<const double> y) const override { return loss_->minimum(y[0]); }
  void check_target(std::span<const double> y, std::size_t /*outputs*/) const override { loss_->check_target(y[0]); }
  Link link() const override { return loss_->link(); }
  bool is_squared_error() const override { return loss_->is_squared_error(); }
  std::string spec() const override { return loss_->spec(); }

 private:
  std::shared_ptr<const Loss> loss_;
};

}  // namespace

std::shared_ptr<const VectorLoss> make_vector_loss(std::string_view text) {
  const Spec spec("loss", text);
  std::shared_ptr<const VectorLoss> loss;
  if (spec.name() == "softmax") {
    loss = std::make_shared<Softmax>();
  } else if (spec.name() == "squared") {
    loss = std::make_shared<SquaredVector>();
  } else {
    return as_vector_loss(make_loss(text));
  }
  spec.finish();
  return loss;
}

std::shared_ptr<const VectorLoss> as_vector_loss(std::shared_ptr<const Loss> loss) {
  return std::make_shared<OneOutput>(std::move(loss));
}

std::vector<std::string> vector_loss_names() {
  auto names = loss_names();
  names.emplace_back("softmax");
  return names;
}

}  // namespace ignd
