#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace ignd::cli {

// Predictions as comma-separated values, written as they are made: row,prediction[,probability].
class PredictionWriter {
 public:
  enum class Mode { replace, append };

  // An empty path is the standard output. What is appended to a file that is not empty has no header. Throws FileError.
  explicit PredictionWriter(std::string path, Mode mode = Mode::replace);
  ~PredictionWriter();
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;
  PredictionWriter(PredictionWriter&&) = delete;
  PredictionWriter& operator=(PredictionWriter&&) = delete;

  void add(std::uint64_t row, double prediction);
  void add(std::uint64_t row, const std::string& label, double probability);

  // Throws FileError if a file could not be written. The standard output is main.cpp's to look after.
  void flush();
  bool failed() const { return std::ferror(file_) != 0; }

 private:
  void write(const std::string& text);

  std::string path_;
  std::FILE* file_;
  bool needs_header_ = true;
  int error_ = 0;  // of the first write that failed
};

}  // namespace ignd::cli
