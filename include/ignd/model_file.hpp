#pragma once

#include "ignd/api.hpp"

#include <map>
#include <memory>
#include <string>
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

  ModelKind kind() const;
  const std::string& target() const;
  std::vector<std::string> classes() const;  // empty for numbers; "?": a stream has not shown this one yet
  std::vector<std::string> columns() const;  // that a row must have; empty if the samples are no rows
  std::string spec() const;                  // of the model: "mlp:widths=8x32x64x32,..."

  // Predicts one row of a table, given as cells by column, each as it stands in a file; "" is a missing value. Other
  // columns are ignored. Throws InvalidArgument if a column is missing or the model's samples are no rows, and
  // BadSample if a cell is not what it was in training.
  Prediction predict(const std::map<std::string, std::string>& row) const;

  // Predicts all samples of a source, as `ignd predict` does: the rows of a table in their order, or the files of a
  // folder, of an archive, or a single one, by name. Files that cannot be read are left out. Throws FileError.
  std::vector<Prediction> predict_file(const std::string& path) const;

  // Scores the model on a source with known targets, as `ignd evaluate` does, by the names that TrainReport uses:
  // "loss", "rmse", "accuracy", ... `weight` is a column of importance weights. Throws FileError, and Error where a
  // prediction is not finite.
  std::map<std::string, double> evaluate(const std::string& path, const std::string& weight = {}) const;

 private:
  friend class LibraryTraining;
  explicit ModelFile(std::shared_ptr<const TrainedModel> model);

  std::shared_ptr<const TrainedModel> model_;
};

}  // namespace ignd
