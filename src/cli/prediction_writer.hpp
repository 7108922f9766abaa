#pragma once

#include "base/pinned.hpp"
#include "learn/stream_model.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ignd::cli {

struct TrainOptions;

// The intervals of some level, a share of the rows; null if none are asked for.
struct AskedIntervals {
  const PredictionIntervals* intervals = nullptr;
  double level = 0;
};

// Predictions as comma-separated values: "row" or "file", columns that are passed on from the data, and the prediction:
// a number, with the ends of its interval if it is asked for; or a class, with the probability of the positive one of
// two, or of each of more than two.
class PredictionFormat {
 public:
  PredictionFormat(std::string first, std::span<const std::string> kept, std::span<const std::string> classes,
                   AskedIntervals asked = {});

  const std::string& header() const { return header_; }
  // Appends a line; that of a sample that is not usable has empty fields behind the kept ones.
  void append(std::string& text, const PredictedSample& sample) const;

 private:
  std::size_t probabilities_ = 0;  // fields for them
  AskedIntervals asked_;
  std::string header_;
};

// The file of the predictions that `train --stream` makes before it learns from each example, written as they are made.
class PredictionLog : Pinned {
 public:
  enum class Mode { replace, append };

  // What is appended to a file that is not empty has no header. Throws FileError.
  explicit PredictionLog(std::string path, Mode mode = Mode::replace);
  // Goes on behind what was written before; later rows are cut off, since they will be made again. Throws FileError if
  // this is not that file.
  PredictionLog(std::string path, const WrittenPredictions& before);
  ~PredictionLog();

  void add(const PredictionFormat& format, const PredictedSample& sample);

  void flush();  // throws FileError if the file could not be written
  void sync();   // the same, to the disk
  const WrittenPredictions& written() const { return written_; }
  std::uint64_t bytes_cut() const { return bytes_cut_; }

 private:
  bool failed() const { return std::ferror(file_) != 0; }
  void note(std::string_view text);

  std::string path_;
  std::FILE* file_;
  bool needs_header_ = true;
  std::string line_;
  int error_ = 0;  // of the first write that failed
  WrittenPredictions written_;
  std::uint64_t bytes_cut_ = 0;
};

// Throws FileError if the predictions would replace the data or a model.
void check_predictions_file(const TrainOptions& options, const std::string& model);

// Opens the file at `path`. A resumed run (`before` is its model's, from the file `resume`, after `rows` rows) finds
// the predictions as they were when the model was saved: what a killed run wrote after that is cut off. Throws
// FileError.
std::unique_ptr<PredictionLog> open_predictions(const std::string& path, const std::string& resume,
                                                const std::optional<StreamInput>& before, std::uint64_t rows);

}  // namespace ignd::cli
