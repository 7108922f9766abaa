#pragma once

#include "data/class_files.hpp"
#include "data/data_file.hpp"
#include "ignd/model.hpp"
#include "ignd/model_file.hpp"
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

namespace ignd {

class Checkpoint;

// Data for a trained model.
struct NewData {
  DataFile file;
  std::vector<std::string> keep = {};      // for predictions from a table: columns to pass on
  std::optional<std::string> weight = {};  // for evaluations on a table: a column of importance weights
  bool skip_bad_rows = false;
  std::function<void(std::size_t done, std::size_t total)> progress = {};  // called after each decoded image
  const std::atomic<bool>* stop = nullptr;  // checked while a model is evaluated on images
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
  Scores scores;
  std::uint64_t samples = 0;              // that were scored
  std::uint64_t rows = 0;                 // of the table, with the bad ones
  BadRowCount bad_rows = {};              // left out
  std::vector<SkippedFile> skipped = {};  // by name
  std::string note = {};                  // about the cache of decoded images; usually empty
};

// How a model reads its data.
struct InputDescription {
  std::vector<std::pair<std::string, std::variant<std::uint64_t, std::string>>> facts;  // for programs: "features", 9
  std::string text = {};                                                                // empty for tables
  std::span<const ColumnCode> columns = {};                                             // of a table
};

// A trained model with all it needs to predict from new data: what a model file holds, of whatever kind. May be used by
// several threads at a time.
class TrainedModel {
 public:
  struct Parts {
    Target target;
    std::string loss;
    std::unique_ptr<Model<float>> model;

    // Throws FileError for a checkpoint without such a model, or with one that cannot be used.
    static Parts load(const Checkpoint& checkpoint);
  };

  virtual ~TrainedModel() = default;
  TrainedModel(const TrainedModel&) = delete;
  TrainedModel& operator=(const TrainedModel&) = delete;

  // By the kind that the checkpoint names; `path`, of its file, is for messages. Throws FileError, also for the model
  // of a stream.
  static std::unique_ptr<TrainedModel> load(const Checkpoint& checkpoint);
  static std::unique_ptr<TrainedModel> load(const std::string& path, const Checkpoint& checkpoint);
  void save(Checkpoint& checkpoint) const;  // without the state of a training run

  const Target& target() const { return parts_.target; }
  const std::string& loss() const { return parts_.loss; }
  const Model<float>& model() const { return *parts_.model; }

  virtual ModelKind kind() const = 0;
  virtual const char* samples() const = 0;                         // "rows"
  virtual bool reads_table(const DataFile& file) const = 0;        // or are its samples files?
  virtual std::vector<std::string> columns() const { return {}; }  // that a row must have
  virtual InputDescription inputs() const = 0;

  // Predicts the samples of a source in their order: rows as they come, files by name. Throws FileError.
  virtual PredictionReport predict(const NewData& data, const OnPrediction& use) const = 0;

  // Throws InvalidArgument if a column is missing or the samples are files, and BadSample for a cell of another type.
  virtual Prediction predict_row(const std::map<std::string, std::string>& row) const = 0;

  // Scores the model on data with known targets. Throws FileError, and Stopped once NewData::stop is set.
  virtual Evaluation evaluate(const NewData& data) const = 0;

 protected:
  explicit TrainedModel(Parts parts) : parts_(std::move(parts)) {}
  TrainedModel(TrainedModel&&) = default;
  TrainedModel& operator=(TrainedModel&&) = default;

  virtual void save_reader(Checkpoint& checkpoint) const = 0;  // with the kind

  // Throws FileError, with `what` as the reason, unless the model reads this sample.
  void check_reads(const Input<float>& sample, const char* what) const;

  // Throws InvalidArgument with all columns() that the row lacks.
  void check_row(const std::map<std::string, std::string>& row) const;

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
