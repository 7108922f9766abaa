#include "cli/prediction_writer.hpp"

#include "cli/output.hpp"
#include "core/text.hpp"
#include "ignd/error.hpp"
#include "report/escape.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {

PredictionWriter::PredictionWriter(std::string path, Mode mode)
    : path_(std::move(path)),
      file_(path_.empty() ? stdout : std::fopen(path_.c_str(), mode == Mode::append ? "a" : "w")) {
  if (file_ == nullptr) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  needs_header_ = mode == Mode::replace || std::ftell(file_) <= 0;
}

PredictionWriter::~PredictionWriter() {
  if (file_ != stdout) std::fclose(file_);
}

void PredictionWriter::add(std::uint64_t row, double prediction) {
  if (std::exchange(needs_header_, false)) write("row,prediction\n");
  write(fmt::format("{},{:.9g}\n", row, prediction));
}

void PredictionWriter::add(std::uint64_t row, const std::string& label, double probability) {
  if (std::exchange(needs_header_, false)) write("row,prediction,probability\n");
  write(fmt::format("{},{},{:.9g}\n", row, csv_bytes(label), probability));
}

void PredictionWriter::write(const std::string& text) {
  if (failed()) return;
  const bool written =
      file_ == stdout ? print_data(text) : std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  if (!written) error_ = errno;
}

void PredictionWriter::flush() {
  if (file_ == stdout) return;
  if (!failed() && std::fflush(file_) != 0) error_ = errno;
  if (failed()) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(error_)));
}

}  // namespace ignd::cli
