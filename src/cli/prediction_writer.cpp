#include "cli/prediction_writer.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {

std::string as_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

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
  write(fmt::format("{},{},{:.9g}\n", row, as_field(label), probability));
}

void PredictionWriter::write(const std::string& text) {
  if (failed()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) < text.size()) error_ = errno;
}

void PredictionWriter::flush() {
  if (file_ == stdout) return;
  if (!failed() && std::fflush(file_) != 0) error_ = errno;
  if (failed()) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(error_)));
}

}  // namespace ignd::cli
