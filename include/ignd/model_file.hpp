#pragma once

#include "ignd/api.hpp"
#include "ignd/frame.hpp"
#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

class TrainedModel;

// What a model says of a sample.
struct Prediction {
  double value = 0;                        // in the target's units; for classes the number of the most probable one
  std::string label = {};                  // for classes: its name
  std::vector<double> probabilities = {};  // for classes, in the order of classes(): of two, the positive one is last
  std::string name = {};                   // in a file: the number of the row, counted from 1, or the name of the file
};

// Where the true number of a prediction is expected.
struct PredictionInterval {
  double low = 0, high = 0;
};

// What a model says of the rows of a table, one after the other.
struct Predictions {
  std::vector<double> values = {};         // as Prediction::value
  std::vector<double> probabilities = {};  // for classes, those of a row side by side
};

// The rows of a table as a model sees them.
struct EncodedRows {
  std::size_t features = 0;
  std::vector<float> values = {};    // those of a row side by side
  std::vector<double> targets = {};  // what the model learns for each row; empty if the table has no such column
};

// How much worse a model predicts once the cells of a column are shuffled among the rows: over the shuffles, the mean
// rise of the measure and its standard deviation.
struct ColumnImportance {
  std::string column;
  double increase = 0;
  std::optional<double> deviation = {};  // none of a single shuffle
};

struct Importance {
  std::string measure;                         // "RMSE", "log loss"; lower is better
  double score = 0;                            // before any column is shuffled
  std::size_t rows = 0;                        // that were used
  std::vector<ColumnImportance> columns = {};  // most important first
};

struct ImportanceOptions {
  std::size_t rows = 10'000;  // at most; the seed draws them
  std::size_t repeats = 5;    // shuffles of each column
  std::uint64_t seed = 1;
};

// What a model's samples are: rows of a table, image files, texts in files or in a column of a table, or the examples
// of a stream.
enum class ModelKind { table, images, texts, stream };

// A model with all it needs to predict from new data: what `ignd train` saves, with --stream or without, and train()
// makes. Copies share the model, and several threads may use it. OnlineLearner of ignd/stream.hpp goes on learning with
// the model of a stream.
class IGND_API ModelFile {
 public:
  // Throws FileError if the file is damaged or holds no such model.
  static ModelFile load(const std::string& path);

  // Writes the model alone, without the state of its training run; the model of a stream can go on learning all the
  // same. Throws FileError; then the file is as it was.
  void save(const std::string& path) const;

  // The same in memory, where `bytes` are those of a file.
  static ModelFile from_bytes(std::string_view bytes);
  std::string to_bytes() const;

  ModelKind kind() const;
  const std::string& target() const;
  std::vector<std::string> classes() const;  // empty for numbers; "?": a stream has not shown this one yet
  std::vector<std::string> columns() const;  // that a row must have; empty if the samples are no rows
  std::string spec() const;                  // of the model: "mlp:widths=8x32x64x32,..."

  // Predicts one row of a table, given as cells by column, each as it stands in a file; "" is a missing value. Other
  // columns are ignored. Throws InvalidArgument if a column is missing or the model's samples are no rows, and
  // BadSample if a cell is not what it was in training.
  Prediction predict(const std::map<std::string, std::string>& row) const;

  // The interval around a predicted number that holds a share of `level` of the rows, such as 0.9, as `ignd predict
  // --interval` prints it: split-conformal prediction from rows that the model has not learned from. Throws
  // InvalidArgument for a model of classes, for one that holds no residuals of such rows, and for a level that they are
  // too few for.
  PredictionInterval interval(double predicted, double level) const;

  // Predicts all samples of a source, as `ignd predict` does: the rows of a table in their order, or the files of a
  // folder, of an archive, or a single one, by name. Files that cannot be read are left out. Throws FileError.
  std::vector<Prediction> predict_file(const std::string& path) const;

  // Scores the model on a source with known targets, as `ignd evaluate` does, by the names that TrainReport uses:
  // "loss", "rmse", "accuracy", ... `weight` is a column of importance weights. Throws FileError, and Error where a
  // prediction is not finite.
  std::map<std::string, double> evaluate(const std::string& path, const std::string& weight = {}) const;

  // The permutation importance of the columns of a model of a table, as `ignd explain` finds it, for rows with known
  // targets. Throws as evaluate() does, and InvalidArgument for a model of something else.
  Importance importance(const std::string& path, const ImportanceOptions& options = {}) const;
  Importance importance(const Frame& frame, const ImportanceOptions& options = {}) const;

  // Predicts all rows of a table in memory. Throws InvalidArgument if a column is missing or the model's samples are
  // files, and BadSample, with the row, if a cell is not what it was in training.
  Predictions predict_frame(const Frame& frame) const;

  // For training the model of a table further: its loss, its inputs and targets for the rows of a table, a copy of the
  // model alone, and the same file with another model in its place, such as that one trained further. Throw as
  // predict_frame does, and InvalidArgument for a model of other inputs or outputs.
  std::string loss() const;
  EncodedRows encode_frame(const Frame& frame) const;
  std::unique_ptr<Model<float>> model() const;
  ModelFile with_model(const Model<float>& model) const;

 private:
  friend class LibraryTraining;
  explicit ModelFile(std::shared_ptr<const TrainedModel> model);

  std::shared_ptr<const TrainedModel> model_;
};

}  // namespace ignd
