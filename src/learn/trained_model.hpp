#pragma once

#include "data/class_files.hpp"
#include "data/data_file.hpp"
#include "ignd/error.hpp"
#include "ignd/model.hpp"
#include "ignd/model_file.hpp"
#include "learn/explanation.hpp"
#include "learn/model_facts.hpp"
#include "learn/prediction_intervals.hpp"
#include "learn/table_dataset.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd {

class Checkpoint;

// Data for a trained model.
struct NewData {
  DataFile file;
  std::vector<std::string> keep = {};      // for predictions from a table: columns to pass on
  std::optional<std::string> weight = {};  // for evaluations on a table: a column of importance weights
  bool skip_bad_rows = false;
  // Called after each decoded image, and while a model is explained.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
  const std::atomic<bool>* stop = nullptr;  // checked while a model is evaluated on images, or explained
  std::function<void()> before_wait = {};   // called each time before more of a stream is read, which may take for ever
};

struct PredictedSample {
  Prediction prediction;
  std::vector<std::string> kept;  // fields of NewData::keep
  bool usable = true;             // false: a bad row, of which only the name is known
};
using OnPrediction = std::function<bool(const PredictedSample& sample)>;  // false: stop here

// What the user should know about the samples of a source.
struct PredictionReport {
  std::uint64_t samples = 0, bad_rows = 0;
  std::string first_fault = {};           // of the bad rows
  std::uint64_t unknown_texts = 0;        // cells of text columns that training did not have
  std::vector<SkippedFile> skipped = {};  // by name
};

struct Evaluation {
  Scores scores = {};
  std::uint64_t samples = 0;              // that were scored
  std::uint64_t rows = 0;                 // of the table, with the bad ones
  BadRowCount bad_rows = {};              // left out
  std::vector<SkippedFile> skipped = {};  // by name
  JudgedSamples judged = {};              // one by one; of a stream of numbers without classes at most a million
  std::string note = {};                  // about the cache of decoded images; usually empty
};

// Throws Error where a prediction was not finite: then there are no scores.
void check_measured(const Evaluation& made);

// What `ignd inspect` says of a model file.
struct ModelDescription {
  using Fact = std::variant<std::uint64_t, std::string, std::optional<double>>;

  std::vector<std::pair<std::string, Fact>> facts = {};  // for programs: "features", 9
  std::vector<std::string> lines = {};                   // for people: what it is and how it was trained
  std::string target = {};                               // what it predicts: "number, mean 3945, deviation 4002"
  std::string inputs = {};                               // what it reads, in a line; empty where columns say it
  std::span<const ColumnCode> columns = {};              // of a table
  std::map<std::string, CellFormat> formats = {};        // of a stream's columns that are not plain numbers or texts
  std::optional<ModelFacts> made = {};                   // how, and how good it is; not in every file
};

// A trained model with all it needs to predict from new data: what a model file holds, of whatever kind. Several
// threads may predict with it at a time.
class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  TrainedModel(const TrainedModel&) = delete;
  TrainedModel& operator=(const TrainedModel&) = delete;

  // By the kind that the checkpoint names; `path`, of its file, is for messages. Throws FileError.
  static std::unique_ptr<TrainedModel> load(const Checkpoint& checkpoint);
  static std::unique_ptr<TrainedModel> load(const std::string& path, const Checkpoint& checkpoint);
  virtual void save(Checkpoint& checkpoint) const = 0;  // all that load() needs

  virtual ModelKind kind() const = 0;
  virtual const std::string& target_name() const = 0;
  virtual std::vector<std::string> classes() const = 0;  // of the target; none for numbers
  virtual std::string loss() const = 0;
  virtual std::string spec() const = 0;  // of the model itself
  // What the file that it was loaded from says of it and of its training run.
  virtual ModelDescription describe(const Checkpoint& file) const = 0;

  // Of its predictions. Throws InvalidArgument where there are none, and says why.
  virtual const PredictionIntervals& intervals() const;

  virtual const char* samples() const { return "rows"; }                     // what they are called
  virtual bool reads_table(const DataFile& /*file*/) const { return true; }  // or are its samples files?
  virtual std::vector<std::string> columns() const { return {}; }            // that a row must have

  // Predicts the samples of a source in their order: rows as they come, files by name. Throws FileError, and
  // InvalidArgument for what the data do not have.
  virtual PredictionReport predict(const NewData& data, const OnPrediction& use) const = 0;

  // Throws InvalidArgument if a column is missing or the samples are no rows, and BadSample for a cell of another type.
  virtual Prediction predict_row(const std::map<std::string, std::string>& row) const = 0;

  // Scores the model on data with known targets. Throws as predict() does, and Stopped once NewData::stop is set.
  virtual Evaluation evaluate(const NewData& data) const = 0;

  // What it has learned from the columns of data with known targets. Throws as evaluate() does, and InvalidArgument for
  // a model whose samples have no columns.
  virtual Explanation explain(const NewData& data, const ExplainOptions& options) const;

 protected:
  TrainedModel() = default;
  TrainedModel(TrainedModel&&) = default;
  TrainedModel& operator=(TrainedModel&&) = default;

  // Throws InvalidArgument with all columns() that the row lacks.
  void check_row(const std::map<std::string, std::string>& row) const;
};

// Runs `use` on the data of a file. What it finds wrong is wrong with the file: a FileError.
template <class Use>
auto blaming(const DataFile& file, Use use) -> decltype(use()) {
  try {
    return use();
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}, {}", file.name(), fault.what()));
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", file.name(), fault.what()));
  }
}

// All samples of a file. Throws FileError.
std::vector<Prediction> predict_file(const TrainedModel& model, const std::string& path);

// A model that was trained in epochs, by a Run.
class RunModel : public TrainedModel {
 public:
  struct Parts {
    Target target;
    std::string loss;
    std::unique_ptr<Model<float>> model;
    std::optional<PredictionIntervals> intervals = {};

    // Throws FileError for a checkpoint without such a model, or with one that cannot be used.
    static Parts load(const Checkpoint& checkpoint);
  };

  const Target& target() const { return parts_.target; }
  const Model<float>& model() const { return *parts_.model; }

  void save(Checkpoint& checkpoint) const final;  // without the state of the training run
  // The same with a model in place of its own, whose residuals are not known.
  void save_with(Checkpoint& checkpoint, const Model<float>& model) const;
  const PredictionIntervals& intervals() const final;
  const std::string& target_name() const final { return parts_.target.name; }
  std::vector<std::string> classes() const final { return parts_.target.classes; }
  std::string loss() const final { return parts_.loss; }
  std::string spec() const final { return parts_.model->spec(); }
  ModelDescription describe(const Checkpoint& file) const final;

 protected:
  explicit RunModel(Parts parts) : parts_(std::move(parts)) {}

  virtual void save_reader(Checkpoint& checkpoint) const = 0;  // with the kind
  virtual void describe_inputs(ModelDescription& description) const = 0;

  // Throws FileError, with `what` as the reason, unless the model reads this sample.
  void check_reads(const Input<float>& sample, const char* what) const;

 private:
  Parts parts_;
};

// Models of images and of texts, which tell two classes apart (file_models.cpp). Throw FileError for a checkpoint
// without such a model, or with one that does not fit together.
std::unique_ptr<TrainedModel> load_image_model(const Checkpoint& checkpoint);
std::unique_ptr<TrainedModel> load_text_model(const Checkpoint& checkpoint);

// Sets what a model's outputs mean for a target.
void interpret(const Target& target, std::span<const double> outputs, Prediction& prediction);

void save_trained_model(Checkpoint& checkpoint, const Target& target, const std::string& loss,
                        const Model<float>& model);

}  // namespace ignd
