#pragma once

#include "base/pinned.hpp"
#include "data/data_file.hpp"
#include "data/example_reader.hpp"
#include "ignd/checkpoint.hpp"
#include "learn/stream_learner.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

inline constexpr const char* stream_model_kind = "stream model";
bool is_stream_model(const Checkpoint& checkpoint);

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

  bool has_columns() const { return format == ExampleFormat::csv; }

  // Throws InvalidArgument if the user says that the data have another format than the model's, or gives options of
  // comma-separated values for another format.
  void check_fits(const DataFile& data) const;

  void save(Checkpoint& checkpoint) const;
  static StreamInput load(const Checkpoint& checkpoint);  // throws FileError
};

// What `ignd train --stream` saves: a learner, and how its examples are read.
class StreamModel : Pinned {
 public:
  // A new one. Reads no data. Throws InvalidArgument with every fault of the options.
  StreamModel(std::string target, std::string weight, StreamOptions options);
  explicit StreamModel(const Checkpoint& checkpoint, bool skip_bad_rows = false);  // throws FileError
  // The same from the file `path`, which messages name.
  static StreamModel load(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows = false);

  const StreamInput& input() const { return input_; }
  const StreamLearner& learner() const { return learner_; }
  StreamLearner& learner() { return learner_; }

  // Whether the reader settings are fixed: by a file, or by first examples.
  bool has_settings() const { return has_settings_; }

  struct Reading {
    unsigned threads = 0;   // 0: as many as are useful
    int interruption = -1;  // a descriptor: once it is readable, waiting for input ends the stream
  };
  // Opens data to learn from. The first data fix the reader settings; later data are read in the same way. The reader
  // lives until the next call, or close(). Throws FileError or InvalidArgument, and changes nothing.
  ExampleReader& open(const DataFile& data, const Reading& reading);
  void close();

  // Fixes the reader settings by examples that come from no file.
  void set_columns(std::vector<std::string> features, bool text_target);
  // What a label of the next example stands for.
  void set_next_label(double label, std::string text) { next_label_ = {label, std::move(text)}; }
  void remember_class(double label) { input_.classes.try_emplace(label, label_name(label)); }

  // Opens data to predict or evaluate; `columns` says which columns besides the features are needed.
  std::unique_ptr<ExampleReader> open_new(const DataFile& data, CsvColumns columns, BadRows bad_rows) const;

  // As it stands in the data; "?" if no such label has been seen.
  std::string label_name(double label) const;

  // The kind and the reader settings alone, then with the learner. `last_line` is 0 at the end of the data.
  void describe(Checkpoint& checkpoint) const;
  void save(Checkpoint& checkpoint, std::uint64_t last_line = 0,
            std::optional<WrittenPredictions> predictions = std::nullopt);

 private:
  void name_labels();
  void remember_classes();

  StreamInput input_;
  bool has_settings_ = false;
  StreamLearner learner_;
  std::unique_ptr<ExampleReader> reader_;  // of the data that are being learned
  std::pair<double, std::string> next_label_;
};

}  // namespace ignd
