#pragma once

#include "data/encoder.hpp"
#include "ignd/trainer.hpp"
#include "learn/metrics.hpp"
#include "learn/split.hpp"
#include "learn/target.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

class Checkpoint;

// What encoded inputs are multiplied by, for studies of badly scaled inputs: nothing, 100, or each its own power of ten
// between 1/100 and 100, the same for all seeds.
enum class InputFactors { one, hundred, separate };

// What is to be learned from which samples.
struct DatasetOptions {
  std::string target = {};                 // a column of a table
  std::string loss = {};                   // empty: by the target's kind
  std::optional<std::string> weight = {};  // a column of importance weights
  bool balanced = false;                   // all classes weigh the same
  std::string positive = {};               // of two classes; empty: the larger one
  std::optional<std::string> split_by = {};
  std::optional<std::string> split_time = {};
  double validation = 0.1;  // shares of the samples
  double test = 0.1;        // where the data do not say what the test samples are
  std::uint64_t seed = 1;
  bool stratified = true;  // each part has its share of each class, unless groups or times decide
  std::vector<std::string> features = {}, drop = {};  // columns that alone are inputs, and columns that are not
  bool use_ids = false;                               // learn from columns in which nearly every row has its own text
  bool skip_bad_rows = false;  // leave out the rows whose target, weight or time cannot be used, and count them
  NumberScaling scaling = NumberScaling::robust;
  std::optional<std::uint64_t> pieces = {}, levels = {};  // as in EncoderOptions, which has the defaults
  bool scale_target = true;                               // numbers are learned as (y - mean) / deviation,
  double target_factor = 1;                               // times this
  bool above_median = false;                              // of numbers, whether they are above their median is learned
  InputFactors factors = InputFactors::one;
  std::uint64_t last_validation = 0;  // if not 0, the last rows are for validation, and all others for training
  // If there are folds, the rows of the one with this number, from 0, are for the test, and all others for the rest.
  std::uint64_t folds = 0, fold = 0;
  // Limits on the samples of each part, which the seed draws; 0: no limit.
  std::uint64_t most_training = 0, most_validation = 0, most_test = 0;

  // Of images and texts.
  std::string text = {};     // the column of texts to predict from; empty: the data are a table, or files
  std::size_t size = 224;    // pixels that images are high and wide
  std::size_t length = 256;  // tokens of a text that are read

  std::vector<std::string> columns() const;  // of a table that are named here
};

// How much of the data a search tries each learning rate on.
struct SearchBudget {
  std::uint64_t samples = 20'000;                                // at most; at least one epoch of one row
  std::size_t judged = std::numeric_limits<std::size_t>::max();  // validation rows, drawn by the seed
};

// Samples, by number, split into training, validation and test samples.
class Dataset {
 public:
  virtual ~Dataset() = default;

  const DatasetOptions& options() const { return options_; }
  const Target& target() const { return target_; }
  const std::string& loss() const { return loss_; }
  const Split& split() const { return split_; }

  // The same samples with another split.
  virtual std::unique_ptr<Dataset> with_split(Split split) const = 0;

  // A model for these samples as users write it, as make_model wants it. Throws InvalidArgument.
  virtual std::string model_spec(const std::string& text) const = 0;

  // A sample, which may be a view of `scratch`, a buffer of scratch_size() numbers.
  virtual std::size_t scratch_size() const = 0;
  virtual Sample<float> sample(std::uint32_t row, std::span<float> scratch) const = 0;

  // How many samples are learned before a run looks at its stop flag: fewer where they are large.
  virtual std::size_t samples_at_a_time() const;

  virtual SearchBudget search_budget() const { return {}; }

  virtual double target_in_units(std::uint32_t row) const = 0;  // for classes their number
  virtual double row_weight(std::uint32_t row) const = 0;       // what it counts in metrics
  virtual bool is_weighted() const { return false; }            // whether samples may count differently in training

  // The standard deviation of the target, by which a collapsed model is told from one that learned something.
  virtual double target_deviation() const { return target_.deviation; }

  virtual std::uint64_t fingerprint() const = 0;  // of the data

  // Whether any row might be in any part: not where groups or times decide.
  virtual bool rows_are_exchangeable() const { return true; }

  // The group of each row, where the rows of a group depend on each other; empty: every row stands alone.
  virtual std::vector<std::uint64_t> groups_of(std::span<const std::uint32_t> /*rows*/) const { return {}; }

  virtual std::size_t bytes() const { return 0; }  // of memory that it keeps for itself, roughly

  // What is needed besides the model to predict from new data, as part of a model file.
  virtual void save_reader(Checkpoint& checkpoint) const = 0;

 protected:
  explicit Dataset(DatasetOptions options) : options_(std::move(options)) {}
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;
  Dataset(Dataset&&) noexcept = default;
  Dataset& operator=(Dataset&&) noexcept = default;

  // Applies the limits of the options to the parts.
  void limit_parts();

  DatasetOptions options_;
  Target target_;
  std::string loss_;
  Split split_;
};

// All outputs of a model for some rows, those of a row side by side. Throws Stopped once `stop` is set.
std::vector<double> outputs_on(const Dataset& dataset, std::span<const std::uint32_t> rows, const Model<float>& model,
                               const std::atomic<bool>* stop = nullptr);

// How good predictions are, in the units of the target.
struct Scores {
  double loss = 0;  // mean loss as the model learns it, with the weights it learns with; infinite if an output is
  std::optional<RegressionMetrics> regression;
  std::optional<ClassificationMetrics> classification;
  std::optional<MulticlassMetrics> multiclass = {};
  double deviation = 0;  // of the predictions; of logits for classes, of more than two the largest

  bool is_measured() const { return regression || classification || multiclass; }
};

// Whether a model predicts the same for all samples: dead units do not recover.
bool is_collapsed(const Dataset& dataset, const Scores& scores);

// Draws `count` of the rows by the seed and a name; 0: all stay.
void keep_some(std::vector<std::uint32_t>& rows, std::uint64_t count, std::uint64_t seed, const char* name);

// What a model says of some samples, one by one: what error bars are made from.
struct JudgedSamples {
  std::size_t classes = 0;             // of the target; 0: numbers
  std::vector<double> truth = {};      // in the target's units; for classes their number
  std::vector<double> predicted = {};  // likewise; of two classes the logit, of more the most probable one
  std::vector<double> weight = {};     // in metrics
  std::vector<double> loss = {};       // as the model learns it
  std::vector<double> loss_weight = {};
  std::vector<std::uint64_t> group = {};  // as Dataset::groups_of
  std::uint64_t left_out = 0;             // samples that are not here, because there are too many

  std::size_t size() const { return truth.size(); }
};

// Judges a function that gives the model's output for a sample. An output that means no finite number leaves nothing
// but an infinite loss. The samples go to `judged`, unless it is null.
using OutputOf = std::function<double(const Input<float>& x)>;
Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputOf& output,
                JudgedSamples* judged = nullptr);

// The same for a function that writes as many outputs as a model for the target has: a logit for each of more than two
// classes.
using OutputsOf = std::function<void(const Input<float>& x, std::span<double> outputs)>;
Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputsOf& outputs,
                JudgedSamples* judged = nullptr);

// The same for outputs that have been computed, those of a row side by side.
Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, std::span<const double> outputs,
                JudgedSamples* judged = nullptr);

}  // namespace ignd
