#pragma once

#include "ignd/api.hpp"
#include "ignd/error.hpp"
#include "ignd/model_file.hpp"
#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "ignd/trainer.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ignd {

// What is left out is chosen by the learner; docs/stream.md says how. The defaults are those of `ignd train --stream`.
struct StreamOptions {
  unsigned bits = 18;  // 2^bits weights
  // If empty: logistic if the first 1,000 labels are two values, softmax from a third text on, else squared. Of the
  // softmax loss any label is a class.
  std::string loss = {};
  Optimizer optimizer = {};               // any but "gauss-newton" with "plain" needs a schedule
  std::optional<Schedule> schedule = {};  // if not given, each feature's steps shrink as it is seen more often
  double l2 = 0;                          // if not zero, steps shrink with the number of examples
  std::optional<PreconditionerKind> preconditioner = {};  // if not given: one that suits the above
  bool centre = true;                                     // subtract the running means of dense features
  bool skip_bad_rows = false;                             // leave bad rows of files out and count them
};

// Progressive: every example is predicted before it is learned from. The squared loss is reported as (f - y)^2, the
// logistic loss as log loss.
struct IGND_API StreamStatistics {
  std::uint64_t rows = 0;      // all of them
  std::uint64_t examples = 0;  // with a label
  std::uint64_t skipped = 0;   // bad ones
  double weight = 0;           // importance of the examples, summed; so are the losses, each times its weight
  double loss = 0;
  double correct = 0;        // weight of the examples whose class was predicted
  double recent_weight = 0;  // since the last progress report, after 1, 2, 4, 8, ... examples
  double recent_loss = 0;
  double largest_error = 0;  // |f - y|

  // No value if no example had a weight, or if the errors are so small that their squares underflow.
  std::optional<double> average_loss() const { return average(loss, weight); }
  std::optional<double> average_recent_loss() const { return average(recent_loss, recent_weight); }
  std::optional<double> accuracy() const { return weight > 0 ? std::optional(correct / weight) : std::nullopt; }

 private:
  std::optional<double> average(double sum, double over) const;
};

// A number stopped being finite. What was learned before can still be saved, but nothing more can be learned. The
// message names the line of a file, or the number of the example.
class IGND_API LearningEnded : public Error {
  using Error::Error;
};

// A number or a text, like a field of comma-separated values: the text "12" is a number, "" is a missing value. So is a
// number that is not finite.
class Cell {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> &&(!std::same_as<T, char>)Cell(T number) : number_(static_cast<double>(number)) {}
  Cell(std::string text) : is_text_(true), text_(std::move(text)) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}

  bool is_text() const { return is_text_; }
  double number() const { return number_; }
  const std::string& text() const { return text_; }

 private:
  bool is_text_ = false;
  double number_ = 0;
  std::string text_;
};

// The cells of a row by the names of their columns: {{"size", 80}, {"town", "Ulm"}}.
using Example = std::vector<std::pair<std::string, Cell>>;

// Learns a linear model over hashed features, one example at a time, in constant memory. It is what `ignd train
// --stream` trains: the same examples give the same bits, and each reads the model files of the other. Only one thread
// at a time may use an object, even to predict. ModelFile predicts with the same files where nothing more is to be
// learned.
//
//     ignd::OnlineLearner rents("rent", {.loss = "squared"});
//     rents.learn({{"size", 80}, {"town", "Ulm"}}, 1164);
//     rents.predict({{"size", 70}, {"town", "Bonn"}}).value
//
// Without a loss the labels decide, as in the tool: at the third distinct label, after 1,000 examples, or at finish().
// Until then examples are held back, and predictions are 0. Give a loss to learn from the first example on.
class IGND_API OnlineLearner {
 public:
  // `target` names the label's column, and `weight` that of the weights, if the files to learn have one. Files of
  // svmlight and of Vowpal Wabbit's format have no columns: leave both empty. Throws InvalidArgument, with every fault
  // of the options.
  explicit OnlineLearner(std::string target, StreamOptions options = {}, std::string weight = {});
  ~OnlineLearner();
  OnlineLearner(OnlineLearner&&) noexcept;
  OnlineLearner& operator=(OnlineLearner&&) noexcept;

  // Learning continues bit by bit where it was saved. Throws FileError if the file is damaged or another kind of model.
  static OnlineLearner load(const std::string& path, bool skip_bad_rows = false);

  // Writes the whole file or leaves what was there. Examples held back are saved as such. Throws FileError.
  void save(const std::string& path) const;

  // The names of the first example are the columns. Every later example needs them, in any order; others are ignored.
  // Dates and amounts of money are only recognised in files. `weight` is the importance, 0 to 1e6. Throws BadSample for
  // an example that cannot be learned, and changes nothing; LearningEnded; InvalidArgument if the examples so far had
  // no columns.
  void learn(const Example& example, const Cell& label, double weight = 1);

  // Learns a file as `ignd train --stream` does (comma-separated values, svmlight or Vowpal Wabbit's format, gzip or
  // not), calls finish() and returns the number of bad rows that were skipped. Throws FileError, InvalidArgument or
  // LearningEnded, with the line; the examples before it have been learned or are held back. `goes_on` is asked now and
  // then; false ends the reading there.
  std::uint64_t learn_file(const std::string& path, const std::function<bool()>& goes_on = {});

  // Chooses the loss now, if it is still open, and learns the examples held back. More may follow.
  void finish();

  // Predicts without learning. Classes are numbered in the order of classes(). Of two the negative one is number 0: the
  // smaller number, or the text that comes first in the alphabet. Throws BadSample and InvalidArgument as learn() does.
  Prediction predict(const Example& example) const;
  // All rows of a file, in order. Throws FileError, and InvalidArgument if nothing has been learned yet.
  std::vector<Prediction> predict_file(const std::string& path) const;

  const StreamStatistics& statistics() const;
  std::string loss() const;      // its spec; empty until it has been chosen
  std::string decision() const;  // one line that says which loss is used and why
  const std::string& target() const;
  const std::vector<std::string>& columns() const;  // of the features; empty before the first example
  std::vector<std::string> classes() const;         // seen so far, of two the negative one first; none for numbers

 private:
  struct Content;
  explicit OnlineLearner(std::unique_ptr<Content> content);

  std::unique_ptr<Content> content_;
};

}  // namespace ignd
