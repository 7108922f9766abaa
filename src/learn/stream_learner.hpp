#pragma once

#include "data/example_parser.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/trainer.hpp"
#include "learn/centring.hpp"
#include "learn/labels.hpp"
#include "learn/target_range.hpp"

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

 private:
  std::uint64_t line_;
};

// A number stopped being finite. What was learned before is there to be saved; nothing more can be learned.
class LearningEnded : public Error {
  using Error::Error;
};

// What is left out is chosen by the learner: docs/stream.md says what, and how it was found.
struct StreamOptions {
  unsigned bits = 18;                     // 2^bits weights
  std::string loss = {};                  // if empty: logistic if the first 1,000 labels are two values, else squared
  Optimizer optimizer = {};               // those but "gauss-newton" with "plain" need a schedule
  std::optional<Schedule> schedule = {};  // if not given: steps get smaller with what was seen of each feature
  double l2 = 0;                          // if not zero: by the number of examples
  std::optional<PreconditionerKind> preconditioner = {};  // if not given: one that goes with the above
  bool centre = true;                                     // subtract the running means of dense features
  bool skip_bad_rows = false;                             // count them and go on
};

// One example as it was predicted before it was learned from.
struct StreamPrediction {
  std::uint64_t row = 0;   // 1, 2, ...: examples of the stream
  std::uint64_t line = 0;  // of the file
  double output = 0;       // f: the log-odds under the logistic loss, the log of the mean under the Poisson loss
  double prediction = 0;   // in the labels' units: a number, or the more likely class
  double probability = std::numeric_limits<double>::quiet_NaN();  // of the class with the larger label
};

// Progressive: every example is predicted before it is learned from. The squared loss is reported as (f - y)^2, the
// logistic loss as log loss.
struct StreamStatistics {
  std::uint64_t rows = 0;      // all of them
  std::uint64_t examples = 0;  // with a label
  std::uint64_t skipped = 0;   // bad ones
  double weight = 0;           // importance of the examples, summed; so are the losses, each times its weight
  double loss = 0;
  double correct = 0;        // weight of the examples whose class was predicted
  double recent_weight = 0;  // since the last report
  double recent_loss = 0;
  double largest_error = 0;  // |f - y|

  // None where no example had a weight, or where the errors are too small for their squares to be numbers.
  std::optional<double> average_loss() const { return average(loss, weight); }
  std::optional<double> average_recent_loss() const { return average(recent_loss, recent_weight); }
  std::optional<double> accuracy() const { return weight > 0 ? std::optional(correct / weight) : std::nullopt; }

 private:
  std::optional<double> average(double sum, double over) const;
};

struct StreamEvents {
  std::function<void(const StreamStatistics&)> report;  // after examples 1, 2, 4, 8, ...
  std::function<void(const StreamPrediction&)> prediction;
};

// Learns a linear model over hashed features from one pass over a stream, in constant memory. A run is a pure function
// of the options and the examples: not of how they are cut into blocks, nor of where it was saved and taken up again.
class StreamLearner {
 public:
  // Throws InvalidArgument with every fault of the options.
  explicit StreamLearner(StreamOptions options);
  ~StreamLearner();
  StreamLearner(StreamLearner&&) noexcept;
  StreamLearner& operator=(StreamLearner&&) noexcept;

  // The labels are texts: they are classes. To be said before the first example, and again after restore().
  void set_label_names(LabelName name);

  void set_events(StreamEvents events) { events_ = std::move(events); }

  // An example whose label is NaN is only predicted. As long as labels are needed to choose the loss, examples are held
  // back. Throws BadRow or LearningEnded; the examples before that one have been learned, those behind it have not.
  void learn(const ExampleBlock& block) { learn(block, 0, block.size()); }
  void learn(const ExampleBlock& block, std::size_t begin, std::size_t end);  // some of its examples

  // Learns what is held back, at the end of the stream. More may follow all the same.
  void finish();

  // Predicts examples without learning; labels are not looked at. Throws BadRow.
  void predict(const ExampleBlock& block, std::vector<StreamPrediction>& predictions) const;

  const StreamStatistics& statistics() const { return statistics_; }
  // One line that says which loss is used and why; empty as long as it is open.
  const std::string& decision() const { return decision_; }
  std::string loss() const;  // its spec; empty as long as it is open
  bool classifies() const { return classifies_; }
  bool squares_errors() const { return range_.stretches; }  // the loss is the squared one
  const Classes& classes() const { return classes_; }
  std::vector<double> class_labels() const;  // those that have been seen
  // The label of all examples, if it is one.
  std::optional<double> only_label() const;
  // Whether there is anything to save: examples that were learned, predicted or held back.
  bool has_begun() const { return statistics_.rows > 0 || held_.size() > 0; }
  std::uint64_t rows_taken() const { return statistics_.rows + held_.size(); }  // since the beginning of the stream
  bool has_learned() const { return statistics_.weight > 0; }
  const StreamOptions& options() const { return options_; }
  std::size_t weights_not_zero() const;

  // The file says all that is needed to go on bit by bit.
  void save(Checkpoint& checkpoint) const;
  // Throws FileError.
  static StreamLearner restore(const Checkpoint& checkpoint, bool skip_bad_rows = false);

 private:
  TrainerOptions trainer_options(const std::string& loss) const;
  void start(const std::string& loss);

  bool holds_back(double label) const;
  void hold(const ExampleBlock& block, std::size_t i);
  bool has_seen_enough() const;
  void decide();

  Input<float> input_of(const ExampleBlock& block, std::size_t i, CentringScratch& scratch) const;
  void learn_row(const ExampleBlock& block, std::size_t i);
  void predict_row(const ExampleBlock& block, std::size_t i);
  void learn_labelled(const ExampleBlock& block, std::size_t i);
  float& weight_of(const Input<float>& x, std::size_t k);
  void remember_weights(const Input<float>& x);
  bool put_weights_back_unless_finite(const Input<float>& x);
  static void end_unless_finite(StepStatus status, std::uint64_t line);
  StreamPrediction prediction_from(double f, std::uint64_t row, std::uint64_t line) const;
  void count(double y, const StreamPrediction& made, double weight);

  void save_held(Checkpoint& checkpoint) const;
  void restore_held(const Checkpoint& checkpoint);

  StreamOptions options_;
  StreamEvents events_;
  std::unique_ptr<HashedLinear<float>> model_;
  std::unique_ptr<Trainer<float>> trainer_;  // none as long as the loss is open
  Centring centring_;
  CentringScratch scratch_;
  std::vector<float> remembered_;  // the weights that a step is about to change

  LabelName label_name_;
  LabelSurvey survey_;
  ExampleBlock held_;
  std::string decision_;
  bool classifies_ = false;
  Classes classes_;
  double only_label_ = std::numeric_limits<double>::quiet_NaN();  // NaN: none yet, or several
  TargetRange range_;
  StreamStatistics statistics_;
};

}  // namespace ignd
