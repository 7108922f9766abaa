#pragma once

#include "ignd/api.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ignd {

// What a model says of a row.
struct Prediction {
  double value = 0;                        // in the target's units; for classes the number of the most probable one
  std::string label = {};                  // of classes: its name
  std::vector<double> probabilities = {};  // of classes, in the order of ModelFile::classes()
};

// A model of a table with all it needs to predict from new rows: what `ignd train` saves, and train() makes.
// Copies share the model.
class IGND_API ModelFile {
 public:
  // Throws FileError where the file is damaged, or holds a model of something else.
  static ModelFile load(const std::string& path);

  // The model alone, without the state of its training run, whole or not at all. Throws FileError.
  void save(const std::string& path) const;

  const std::string& target() const;
  const std::vector<std::string>& classes() const;  // none for numbers
  std::vector<std::string> columns() const;         // that a row must have
  std::string spec() const;                         // of the model: "mlp:widths=8x32x64x32,..."

  // A row as cells by column, each as it stands in a file; "" is a missing value. Other columns are left alone. Throws
  // InvalidArgument where a column is missing, and BadSample where a cell is not what it was in training.
  Prediction predict(const std::map<std::string, std::string>& row) const;

  // All rows of a file, in order. Throws FileError.
  std::vector<Prediction> predict_file(const std::string& path) const;

 private:
  friend class LibraryTraining;
  struct Content;
  explicit ModelFile(std::shared_ptr<const Content> content);

  std::shared_ptr<const Content> content_;
};

}  // namespace ignd
