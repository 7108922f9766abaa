#pragma once

#include "base/pinned.hpp"
#include "ignd/model_file.hpp"
#include "learn/target.hpp"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd::cli {

// How far a file of predictions had been written when a model was saved.
struct WrittenPredictions {
  std::uint64_t bytes = 0;
  std::string end;  // its last bytes, to know the file by
};

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

// A prediction as fields of comma-separated values: a number; or a class, with the probability of the positive one of
// two, or of each of more than two. What stands before these fields and the line end are the caller's.
class PredictionColumns {
 public:
  explicit PredictionColumns(const Target& target);

  std::string header() const;                                          // ",prediction,probability"
  void append(std::string& line, const Prediction& prediction) const;  // ",no,0.25"
  void append_nothing(std::string& line) const;                        // ",,"

 private:
  std::vector<std::string> classes_, fields_;  // the names as they are and as fields; empty for numbers
};

}  // namespace ignd::cli
