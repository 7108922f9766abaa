#pragma once

#include "cli/console.hpp"
#include "cli/prediction_writer.hpp"
#include "data/data_file.hpp"
#include "data/example_reader.hpp"
#include "ignd/checkpoint.hpp"
#include "learn/stream_learner.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

inline constexpr const char* stream_model_kind = "stream model";
bool is_stream_model(const Checkpoint& checkpoint);

// What a model of streams needs to know of the examples it learned from, to read others in the same way.
struct StreamInput {
  ExampleFormat format = ExampleFormat::svmlight;
  std::string target, weight;                 // columns, of comma-separated values
  std::vector<std::string> features;          // the others
  std::map<std::string, CellFormat> formats;  // of columns that are not plain numbers or texts
  bool text_target = false;
  std::map<double, std::string> classes;  // the texts of the target by their labels
  std::uint64_t last_line = 0;            // of its input, that it has learned from; 0: not known
  bool knows_predictions = false;         // false in files of versions before
  std::optional<WrittenPredictions> predictions;

  bool has_columns() const { return format == ExampleFormat::csv; }
  std::string label_name(double label) const;  // as it stands in the file

  // What was recognised, if anything was.
  void print_formats() const;
  void describe_formats(JsonLine& line) const;

  void save(Checkpoint& checkpoint) const;
  static StreamInput load(const Checkpoint& checkpoint);
};

// None if it is to be guessed.
std::optional<ExampleFormat> asked_format(const DataFile& data);

// Throws InvalidArgument if the user says that the data have another format than the model's, or what only
// comma-separated values have.
void check_fits(const DataFile& data, const StreamInput& input);

// How the columns of a model are to be read, if the user does not say otherwise of the decimal mark.
void set_formats(CsvColumns& columns, const StreamInput& input, const DataFile& data);

// How many threads are useful for parsing.
unsigned useful_threads();

// The learner of a file; `path` is for messages. Throws FileError.
StreamLearner load_learner(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows = false);
StreamInput load_input(const std::string& path, const Checkpoint& checkpoint);

}  // namespace ignd::cli
