#include "learn/stream_classes.hpp"

#include "base/text.hpp"
#include "core/importance.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "kernels/flush_to_zero.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t first_width = 4;

bool all_finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

void check_finite(const Input<float>& x) {
  const auto bad = std::ranges::find_if(x.values, [](float value) { return !std::isfinite(value); });
  if (bad != x.values.end()) throw BadSample(fmt::format("a value is {}; the inputs must be finite", *bad));
}

}  // namespace

void softmax_step(std::span<const double> p, std::size_t label, double s, double k, std::span<double> z) {
  const auto divided = [&](std::size_t c) { return p[c] > 0 ? p[c] / (s * p[c] + k) : 0; };
  double sum = 0;
  for (std::size_t c = 0; c < p.size(); ++c) sum += z[c] = divided(c);
  const double pivot = s * p[label] + k;
  if (!(sum > 0) || !(pivot > 0) || !std::isfinite(sum)) {
    std::ranges::fill(z, 0.0);
    return;
  }
  double others = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    if (c != label) others += z[c] = z[c] / sum / pivot;
  }
  z[label] = -others;
}

std::optional<std::size_t> SeenClasses::find(double label) const {
  const auto known = numbers_.find(label);
  // find(NaN) matches any key, since NaN compares as neither less nor greater.
  if (known == numbers_.end() || known->first != label) return std::nullopt;
  return known->second;
}

void SeenClasses::check(double label) const {
  if (!std::isfinite(label)) throw BadSample(fmt::format("the label is {}, which is no class", label));
  if (labels_.size() < most_classes || find(label)) return;
  throw BadSample(
      fmt::format("there are {} classes already, and this is another one; there may be no more. Give several of them "
                  "one name, or learn numbers as numbers: --loss squared",
                  most_classes));
}

void SeenClasses::add(double label, const LabelName& name) {
  numbers_.emplace(label + 0.0, labels_.size());  // makes a 0 of -0
  labels_.push_back(label + 0.0);
  sort(name);
}

void SeenClasses::drop_last() {
  numbers_.erase(labels_.back());
  std::erase(order_, labels_.size() - 1);
  labels_.pop_back();
}

void SeenClasses::sort(const LabelName& name) {
  std::vector<std::string> names;
  for (const double label : labels_) names.push_back(name ? name(label) : "");
  order_.resize(labels_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_,
                    [&](std::size_t a, std::size_t b) { return name ? names[a] < names[b] : labels_[a] < labels_[b]; });
}

void SeenClasses::save(Checkpoint& checkpoint) const {
  checkpoint.set("learner.classes", std::uint64_t{labels_.size()});
  checkpoint.set("learner.class.labels", std::span<const double>(labels_));
}

SeenClasses SeenClasses::load(const Checkpoint& checkpoint) {
  const std::uint64_t count = checkpoint.number("learner.classes");
  if (count > most_classes) throw FileError(fmt::format("it has {} classes; there may be {}", count, most_classes));
  SeenClasses loaded;
  for (const double label : checkpoint.array<double>("learner.class.labels", count)) {
    if (!std::isfinite(label) || loaded.find(label)) throw FileError("its classes are damaged");
    loaded.add(label, {});
  }
  return loaded;
}

std::string HashedSoftmax::fault(const Optimizer& optimizer, double l2) {
  const auto rule = make_step_rule(optimizer.rule);
  const bool steps = rule->is_gradient() || (rule->damping() && rule->memory() == 0);
  if (steps && optimizer.has_plain_transform() && l2 == 0) return "";
  return "a stream of more than two classes is learned with plain steps of the rules gauss-newton and gradient, and "
         "without l2";
}

HashedSoftmax::HashedSoftmax(unsigned bits, Options options)
    : features_(bits), options_(std::move(options)), rule_(make_step_rule(options_.rule)), trace_(features_) {
  if (const auto damping = rule_->damping()) {
    eps_c_ = damping->eps_c.value_or(0);
    eps_lm_ = damping->eps_lm;
  }
  if (options_.preconditioner != PreconditionerKind::identity) {
    preconditioner_ =
        std::make_unique<Preconditioner<float>>(options_.preconditioner, trace_.j, features_.row_tables());
  }
}

void HashedSoftmax::take_over(const Checkpoint& two_classes) {
  const auto& w = two_classes.array<float>("weights", rows());
  if (preconditioner_) preconditioner_->restore(two_classes);
  steps_ = two_classes.number("steps");
  set_width(first_width);
  classes_ = 2;
  for (std::size_t row = 0; row < rows(); ++row) {
    weights_[row * width_] = -w[row] / 2;
    weights_[row * width_ + 1] = w[row] / 2;
  }
}

std::size_t HashedSoftmax::weights_not_zero() const {
  return weights_.size() - static_cast<std::size_t>(std::ranges::count(weights_, 0.0F));
}

std::string HashedSoftmax::spec() const { return fmt::format("{},classes={}", features_.spec(), classes_); }

// Numbers beyond those of the classes are 0.
void HashedSoftmax::set_width(std::size_t width) {
  AlignedVector<float> wider(rows() * width);
  for (std::size_t row = 0; row < rows(); ++row) {
    std::copy_n(weights_.begin() + static_cast<std::ptrdiff_t>(row * width_), std::min(width, classes_),
                wider.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  weights_ = std::move(wider);
  width_ = width;
}

void HashedSoftmax::add_class(const Input<float>& x, double probability) {
  double logit = 0;
  if (classes_ > 0) {
    std::vector<double> outputs;
    predict(x, trace_, outputs);
    const double others = outputs[most_probable(outputs)] + cross_entropy(most_probable(outputs), outputs);
    logit = others + std::log(probability / (1 - probability));
  }
  if (classes_ == width_) set_width(std::min(most_classes, std::max(first_width, 2 * width_)));
  ++classes_;
  weights_[(rows() - 1) * width_ + classes_ - 1] = std::isfinite(logit) ? static_cast<float>(logit) : 0;
}

void HashedSoftmax::drop_last_class() {
  --classes_;
  for (std::size_t row = 0; row < rows(); ++row) weights_[row * width_ + classes_] = 0;
}

void HashedSoftmax::add_up(const SparseRows<float>& x, std::vector<double>& outputs) const {
  outputs.assign(classes_, 0.0);
  for (std::size_t k = 0; k < x.index.size(); ++k) {
    const float* const w = weights_.data() + std::size_t{x.index[k]} * width_;
    const double value = static_cast<double>(x.rows[k]);
    for (std::size_t c = 0; c < classes_; ++c) outputs[c] += static_cast<double>(w[c]) * value;
  }
}

void HashedSoftmax::predict(const Input<float>& x, Trace<float>& trace, std::vector<double>& outputs) const {
  features_.check(x);
  add_up(features_.read_rows(x, trace), outputs);
}

HashedSoftmax::Step HashedSoftmax::step(const Input<float>& x, std::size_t label, double weight) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  features_.check(x);
  check_finite(x);
  if (!(weight >= 0 && weight <= largest_weight)) refuse_weight(weight);
  add_up(features_.read_rows(x, trace_), outputs_);
  if (preconditioner_ && preconditioner_->rescale_for(trace_.j, weights_, width_)) {
    add_up(std::get<SparseRows<float>>(trace_.j[0]), outputs_);
  }
  StepStatus status = StepStatus::output_not_finite;
  if (all_finite(outputs_)) status = weight == 0 ? StepStatus::zero_weight : descend(label, weight);
  if (status != StepStatus::learned && preconditioner_) preconditioner_->rollback(weights_);
  return {status, outputs_};
}

StepStatus HashedSoftmax::descend(std::size_t label, double weight) {
  const Sensitivity<float>& direction = preconditioner_ ? preconditioner_->direction(trace_.j) : trace_.j;
  const double s = inner_product(trace_.j, direction);
  if (!std::isfinite(s)) return StepStatus::sensitivity_not_finite;
  const double rate = options_.schedule.rate(steps_ + 1);
  sum_repetitions(label, s, rate, weight);
  if (!all_finite(z_)) return StepStatus::coefficient_not_finite;
  if (!move(std::get<SparseRows<float>>(direction[0]), rate)) return StepStatus::coefficient_not_finite;
  if (preconditioner_) preconditioner_->observe(trace_.j);
  ++steps_;
  return StepStatus::learned;
}

// z_ becomes what `weight` repetitions of the step add up to, as in repeated_step().
void HashedSoftmax::sum_repetitions(std::size_t label, double s, double rate, double weight) {
  moved_ = outputs_;
  p_.resize(classes_);
  share_.resize(classes_);
  z_.assign(classes_, 0.0);
  const double k = eps_c_ * s + eps_lm_;
  for (double left = weight; left > 0; left -= 1) {
    softmax_probabilities(moved_, p_);
    if (rule_->is_gradient()) {
      std::ranges::copy(p_, share_.begin());
      share_[label] = 0;
      share_[label] = -std::accumulate(share_.begin(), share_.end(), 0.0);
    } else {
      softmax_step(p_, label, s, k, share_);
    }
    bool moves = false;
    for (std::size_t c = 0; c < classes_; ++c) {
      const double z = std::min(left, 1.0) * share_[c];
      const double before = std::exchange(moved_[c], moved_[c] - rate * s * z);
      z_[c] += z;
      moves = moves || moved_[c] != before;
    }
    if (!moves) break;
  }
}

// False, and nothing has changed, if a weight would not be finite.
bool HashedSoftmax::move(const SparseRows<float>& direction, double rate) {
  next_.resize(direction.index.size() * classes_);
  bool finite = true;
  for (std::size_t k = 0; k < direction.index.size(); ++k) {
    const float* const w = weights_.data() + std::size_t{direction.index[k]} * width_;
    const double x = rate * static_cast<double>(direction.rows[k]);
    float* const next = next_.data() + k * classes_;
    for (std::size_t c = 0; c < classes_; ++c) {
      next[c] = static_cast<float>(static_cast<double>(w[c]) - x * z_[c]);
      finite = finite && std::isfinite(next[c]);
    }
  }
  if (!finite) return false;
  for (std::size_t k = 0; k < direction.index.size(); ++k) {
    std::copy_n(next_.begin() + static_cast<std::ptrdiff_t>(k * classes_), classes_,
                weights_.begin() + static_cast<std::ptrdiff_t>(direction.index[k] * width_));
  }
  return true;
}

void HashedSoftmax::save(Checkpoint& checkpoint) const {
  std::vector<float> packed(weight_count());
  for (std::size_t row = 0; row < rows(); ++row) {
    std::copy_n(weights_.begin() + static_cast<std::ptrdiff_t>(row * width_), classes_,
                packed.begin() + static_cast<std::ptrdiff_t>(row * classes_));
  }
  checkpoint.set("loss", std::string(softmax_loss));
  checkpoint.set("softmax.classes", std::uint64_t{classes_});
  checkpoint.set("softmax.steps", steps_);
  checkpoint.set("softmax.weights", std::span<const float>(packed));
  if (preconditioner_) preconditioner_->save(checkpoint);
}

void HashedSoftmax::restore(const Checkpoint& checkpoint) {
  const std::uint64_t classes = checkpoint.number("softmax.classes");
  if (classes > most_classes) throw FileError(fmt::format("it has {} classes: it is damaged", classes));
  const auto& packed = checkpoint.array<float>("softmax.weights", rows() * classes);
  if (!std::ranges::all_of(packed, [](float w) { return std::isfinite(w); })) {
    throw FileError("its weights are not all finite");
  }
  if (preconditioner_) preconditioner_->restore(checkpoint);
  steps_ = checkpoint.number("softmax.steps");
  classes_ = width_ = 0;
  set_width(std::max(first_width, static_cast<std::size_t>(classes)));
  classes_ = classes;
  for (std::size_t row = 0; row < rows(); ++row) {
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(row * classes_), classes_,
                weights_.begin() + static_cast<std::ptrdiff_t>(row * width_));
  }
}

}  // namespace ignd
