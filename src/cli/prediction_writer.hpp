#pragma once

#include "base/pinned.hpp"
#include "learn/stream_model.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd::cli {

struct TrainOptions;

// Predictions as comma-separated values, written as they are made: row,prediction[,probability].
class PredictionWriter : Pinned {
 public:
  enum class Mode { replace, append };

  // An empty path is the standard output. What is appended to a file that is not empty has no header. Throws FileError.
  explicit PredictionWriter(std::string path, Mode mode = Mode::replace);
  // Goes on behind what was written before; later rows are cut off, since they will be made again. Throws FileError if
  // this is not that file.
  PredictionWriter(std::string path, const WrittenPredictions& before);
  ~PredictionWriter();

  // Columns behind the row that are passed on from the data.
  void set_kept(std::vector<std::string> columns) { kept_columns_ = std::move(columns); }

  // With the fields of these columns.
  using Kept = std::span<const std::string>;
  void add(std::uint64_t row, double prediction, Kept kept = {});
  void add(std::uint64_t row, const std::string& label, double probability, Kept kept = {});
  void add_nothing(std::uint64_t row, bool classes);  // for a row that cannot be predicted

  // Throws FileError if a file could not be written. The standard output is main.cpp's to look after.
  void flush();
  void sync();  // the same, to the disk
  const WrittenPredictions& written() const { return written_; }
  std::uint64_t bytes_cut() const { return bytes_cut_; }
  bool failed() const { return std::ferror(file_) != 0; }

 private:
  void write(std::string_view text);
  void note(std::string_view text);
  void begin(std::uint64_t row, const char* columns, Kept kept);

  std::string path_;
  std::FILE* file_;
  bool needs_header_ = true;
  std::vector<std::string> kept_columns_;
  int error_ = 0;  // of the first write that failed
  WrittenPredictions written_;
  std::uint64_t bytes_cut_ = 0;
};

// The file of the predictions that `train --stream` makes before it learns from each example.

// Throws FileError if the predictions would replace the data or a model.
void check_predictions_file(const TrainOptions& options, const std::string& model);

// Opens the file at `path`. A resumed run (`before` is its model's, from the file `resume`, after `rows` rows) finds
// the predictions as they were when the model was saved: what a killed run wrote after that is cut off. Throws
// FileError.
std::unique_ptr<PredictionWriter> open_predictions(const std::string& path, const std::string& resume,
                                                   const std::optional<StreamInput>& before, std::uint64_t rows);

}  // namespace ignd::cli
