#pragma once

#include "data/data_file.hpp"
#include "data/example_reader.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// How far a file of predictions had been written when a model was saved.
struct WrittenPredictions {
  std::uint64_t bytes = 0;
  std::string end;  // its last bytes, to recognise the file by
};

// The reader settings of a model: other examples are read in the same way as those it learned from.
struct StreamInput {
  ExampleFormat format = ExampleFormat::svmlight;
  std::string target, weight;                 // columns of comma-separated values
  std::vector<std::string> features;          // the other columns
  std::map<std::string, CellFormat> formats;  // of columns that are not plain numbers or texts
  bool text_target = false;
  std::map<double, std::string> classes;  // the texts of the target by their labels
  std::uint64_t last_line = 0;            // the line after which it was saved; 0: the data had ended, or not known
  bool knows_predictions = false;         // false in files of earlier versions
  std::optional<WrittenPredictions> predictions;

  CellFormat format_of(const std::string& column) const;
  bool has_columns() const { return format == ExampleFormat::csv; }

  // Throws InvalidArgument if the user says that the data have another format than the model's, or gives options of
  // comma-separated values for another format.
  void check_fits(const DataFile& data) const;

  // Columns are read as in the model, unless the user names another decimal mark.
  void set_formats(CsvColumns& columns, const DataFile& data) const;

  void save(Checkpoint& checkpoint) const;
  static StreamInput load(const Checkpoint& checkpoint);  // throws FileError
};

// The format that the user says the data have. No value if it is to be guessed. Throws FileError.
std::optional<ExampleFormat> asked_format(const DataFile& data);

}  // namespace ignd
