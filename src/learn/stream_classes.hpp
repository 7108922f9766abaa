#pragma once

#include "core/preconditioner.hpp"
#include "ignd/linear.hpp"
#include "ignd/schedule.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/trainer.hpp"
#include "learn/target.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// How a stream learns any number of classes, which may turn up at any time: their labels, and a linear function for
// each over the same hashed features.
namespace ignd {

class Checkpoint;

// The exact damped Gauss-Newton step of the softmax loss for outputs that are linear functions of one input. With the
// probabilities p, s = x^T P x and k = eps_c s + eps_LM, the system is (s (diag p - p p^T) + k I) z = p - e_label, and
// output c moves by -s z_c. Its solution (docs/math.md) needs no factorisation and no difference of nearly equal
// numbers: with q_c = p_c / (s p_c + k), z_c = q_c / sum(q) / (s p_label + k), and that of the label is minus the sum
// of the others. The sum of z is 0. All zeros where s, or k and with it the system, is 0 to rounding.
void softmax_step(std::span<const double> p, std::size_t label, double s, double k, std::span<double> z);

// The labels of classes that a stream has shown, numbered as they turned up. Labels are codes of texts or numbers.
class SeenClasses {
 public:
  std::size_t size() const { return labels_.size(); }
  const std::vector<double>& labels() const { return labels_; }
  std::optional<std::size_t> find(double label) const;

  // Throws BadSample for a label that is not finite, or one more than there may be.
  void check(double label) const;
  void add(double label, const LabelName& name);
  void drop_last();

  // The numbers of the classes in the order that users see: that of the numbers, or of the texts' bytes.
  const std::vector<std::size_t>& in_order() const { return order_; }
  void sort(const LabelName& name);

  void save(Checkpoint& checkpoint) const;
  static SeenClasses load(const Checkpoint& checkpoint);  // throws FileError; call sort() where labels are texts

 private:
  std::vector<double> labels_;
  std::map<double, std::size_t> numbers_;
  std::vector<std::size_t> order_;
};

// A linear function for each class over the features of HashedLinear, learned with the softmax loss. The weights of a
// feature lie side by side, and memory grows with the number of classes alone.
class HashedSoftmax {
 public:
  struct Options {
    std::string rule;
    Schedule schedule = Schedule::constant(1);
    PreconditionerKind preconditioner = PreconditionerKind::identity;
  };

  // Why steps with these options cannot learn more than two classes; empty if they can.
  static std::string fault(const Optimizer& optimizer, double l2);

  // Throws InvalidArgument.
  HashedSoftmax(unsigned bits, Options options);

  // Learns on from a model of two classes, with what its trainer has saved: the two outputs are -f/2 and f/2.
  void take_over(const Checkpoint& two_classes);

  std::size_t classes() const { return classes_; }
  std::size_t weight_count() const { return rows() * classes_; }
  std::size_t weights_not_zero() const;
  std::string spec() const;

  // Adds a class whose probability for x is `probability`; if it is the first one, that is 1 whatever is asked for.
  void add_class(const Input<float>& x, double probability);
  void drop_last_class();

  struct Step {
    StepStatus status = StepStatus::learned;
    std::span<const double> outputs;  // before the step, until the next one
  };
  // Nothing has changed unless the status is `learned`. Throws BadSample.
  Step step(const Input<float>& x, std::size_t label, double weight);

  void predict(const Input<float>& x, Trace<float>& trace, std::vector<double>& outputs) const;
  Trace<float> make_trace() const { return Trace<float>(features_); }

  // `width()` numbers for each weight of HashedLinear, those of the bias at the end; the first ones are the classes'.
  std::span<float> weights() { return weights_; }
  std::size_t width() const { return width_; }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);  // throws FileError

 private:
  std::size_t rows() const { return features_.parameters().size(); }
  void set_width(std::size_t width);
  void add_up(const SparseRows<float>& x, std::vector<double>& outputs) const;
  StepStatus descend(std::size_t label, double weight);
  void sum_repetitions(std::size_t label, double s, double rate, double weight);
  bool move(const SparseRows<float>& direction, double rate);

  HashedLinear<float> features_;  // says which weights an example reads; its own stay 0
  Options options_;
  std::shared_ptr<const StepRule> rule_;
  double eps_c_ = 0, eps_lm_ = 0;
  std::unique_ptr<Preconditioner<float>> preconditioner_;  // none: the identity
  Trace<float> trace_;
  std::size_t classes_ = 0, width_ = 0;
  AlignedVector<float> weights_;  // rows x width
  std::uint64_t steps_ = 0;

  // Of the step under way.
  std::vector<double> outputs_, moved_, p_, z_, share_;
  AlignedVector<float> next_;
};

}  // namespace ignd
