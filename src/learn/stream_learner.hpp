#pragma once

#include "data/example_parser.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/stream.hpp"
#include "learn/centring.hpp"
#include "learn/stream_classes.hpp"
#include "learn/stream_state.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// An example of the stream that cannot be learned from. All examples before it have been learned.
class BadRow : public BadSample {
 public:
  BadRow(std::uint64_t line, const std::string& fault);
  std::uint64_t line() const { return line_; }
  const std::string& fault() const { return fault_; }  // without the line

 private:
  std::uint64_t line_;
  std::string fault_;
};

// One example as it was predicted before it was learned from.
struct StreamPrediction {
  std::uint64_t row = 0;   // 1, 2, ...: examples of the stream
  std::uint64_t line = 0;  // of the file
  double output = 0;       // f: the log-odds under the logistic loss, the log of the mean under the Poisson loss
  double prediction = 0;   // in the labels' units: a number, or the most likely class
  // Of the class with the larger label; of a learner of any number of classes, that of the predicted class.
  double probability = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> logits = {};  // of that learner, for each class in the order in which they turned up
};

struct StreamEvents {
  std::function<void(const StreamStatistics&)> report;  // after examples 1, 2, 4, 8, ...
  std::function<void(const StreamPrediction&)> prediction;
  std::function<void(const std::string&)> decision = {};  // if it changes: a third class has turned up
};

// Learns a linear model over hashed features from one pass over a stream, in constant memory; of more than two classes,
// a model for each. A run is a pure function of the options and the examples: neither of how they are cut into blocks,
// nor of where it was saved and resumed.
class StreamLearner {
 public:
  // Throws InvalidArgument with every fault of the options.
  explicit StreamLearner(StreamOptions options);
  ~StreamLearner();
  StreamLearner(StreamLearner&&) noexcept;
  StreamLearner& operator=(StreamLearner&&) noexcept;

  // The labels are texts, which are classes. Call this before the first example, and again after restore().
  void set_label_names(LabelName name);

  void set_events(StreamEvents events) { events_ = std::move(events); }

  // An example whose label is NaN is only predicted. Until the loss has been chosen, examples are held back. Throws
  // BadRow or LearningEnded; the examples before that one have been learned, those behind it have not.
  void learn(const ExampleBlock& block) { learn(block, 0, block.size()); }
  void learn(const ExampleBlock& block, std::size_t begin, std::size_t end);  // some of its examples

  // Throws BadSample if learn() would refuse this label or weight.
  void check(double label, double weight) const;

  // Learns what is held back, at the end of the stream. More may still follow.
  void finish();

  // Predicts examples without learning and ignores their labels. Throws BadRow.
  void predict(const ExampleBlock& block, std::vector<StreamPrediction>& predictions) const;

  const StreamStatistics& statistics() const { return statistics_; }
  // One line that says which loss is used and why; empty until it has been chosen.
  const std::string& decision() const { return decision_; }
  std::string model_spec() const;
  std::size_t weights() const;
  std::span<const float> linear_weights() const { return model_->parameters(); }  // unless learns_many_classes()
  std::size_t weights_not_zero() const;
  std::string loss() const;  // its spec; empty until it has been chosen
  // The loss of a prediction for a label as the loss takes it (of classes 0 or 1): of the squared loss (f - y)^2.
  double loss_of(double y, const StreamPrediction& made) const;
  bool classifies() const { return classifies_; }
  // Whether it learns any number of classes, with the softmax loss: those of seen_classes(), and no classes().
  bool learns_many_classes() const { return softmax_ != nullptr; }
  const SeenClasses& seen_classes() const { return seen_classes_; }
  bool squares_errors() const { return range_.stretches; }  // the loss is the squared loss
  double output_unit() const { return range_.scale; }  // of the model's output, in that of StreamPrediction::output
  const Classes& classes() const { return classes_; }
  std::vector<double> class_labels() const;  // those that have been seen
  // The label that all examples have, if there is one.
  std::optional<double> only_label() const;
  // Whether there is anything to save: examples that it learned, predicted or held back.
  bool has_begun() const { return statistics_.rows > 0 || held_.size() > 0; }
  std::uint64_t rows_taken() const { return statistics_.rows + held_.size(); }  // since the beginning of the stream
  bool has_learned() const { return statistics_.weight > 0; }
  const StreamOptions& options() const { return options_; }

  // Saves everything needed to resume bit by bit. Reads what earlier versions saved, too.
  void save(Checkpoint& checkpoint) const;
  // Throws FileError.
  static StreamLearner restore(const Checkpoint& checkpoint, bool skip_bad_rows = false);

 private:
  TrainerOptions trainer_options(const std::string& loss) const;
  void start(const std::string& loss);
  HashedSoftmax make_softmax() const;
  void start_softmax();

  bool holds_back(double label) const;
  bool has_seen_enough() const;
  void decide();

  Input<float> input_of(const ExampleBlock& block, std::size_t i, CentringScratch& scratch) const;
  void learn_row(const ExampleBlock& block, std::size_t i);
  void predict_row(const ExampleBlock& block, std::size_t i);
  double learned_number(double label, Classes& classes) const;
  void learn_labelled(const ExampleBlock& block, std::size_t i);
  bool is_third_class(double label) const;
  void become_softmax(double third);
  void learn_class(const ExampleBlock& block, std::size_t i);
  void finish_example(const ExampleBlock& block, std::size_t i, const StreamPrediction& made, double error, double loss,
                      bool correct);
  float& weight_of(const Input<float>& x, std::size_t k);
  void remember_weights(const Input<float>& x);
  bool put_weights_back_unless_finite(const Input<float>& x);
  static void end_unless_finite(StepStatus status, std::uint64_t line);
  StreamPrediction prediction_from(double f, std::uint64_t row, std::uint64_t line) const;
  StreamPrediction prediction_from(std::span<const double> logits, std::uint64_t row, std::uint64_t line) const;

  void restore_state(const Checkpoint& checkpoint);

  StreamOptions options_;
  StreamEvents events_;
  std::unique_ptr<HashedLinear<float>> model_;
  std::unique_ptr<Trainer<float>> trainer_;  // null until the loss has been chosen,
  std::unique_ptr<HashedSoftmax> softmax_;   // and if this is not
  Centring centring_;
  CentringScratch scratch_;
  std::vector<float> remembered_;  // the weights that a step is about to change

  LabelName label_name_;
  HeldExamples held_;
  std::string decision_;
  bool classifies_ = false;
  Classes classes_;                                               // of the logistic loss
  SeenClasses seen_classes_;                                      // of the softmax loss
  double only_label_ = std::numeric_limits<double>::quiet_NaN();  // NaN: no label yet, or several
  TargetRange range_;
  StreamStatistics statistics_;
};

}  // namespace ignd
