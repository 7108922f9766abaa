#include "cli/prediction_writer.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/save_model.hpp"
#include "cli/train.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace ignd::cli {

PredictionWriter::PredictionWriter(std::string path, Mode mode)
    : path_(std::move(path)),
      file_(path_.empty() ? stdout : std::fopen(path_.c_str(), mode == Mode::append ? "a" : "w")) {
  if (file_ == nullptr) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  const long end = mode == Mode::replace ? 0 : std::ftell(file_);
  needs_header_ = end <= 0;
  if (end > 0) written_.bytes = static_cast<std::uint64_t>(end);
}

PredictionWriter::PredictionWriter(std::string path, const WrittenPredictions& before)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "r+")), written_(before) {
  const auto fail = [&](const std::string& why) {
    if (file_ != nullptr) std::fclose(file_);
    throw FileError(fmt::format("cannot go on with the predictions in {}: {}", quoted_path(path_), why));
  };
  if (file_ == nullptr) fail(std::strerror(errno));
  struct stat about {};
  if (::fstat(::fileno(file_), &about) != 0) fail(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) fail("it is not a regular file");
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size < before.bytes) {
    fail(fmt::format("it has {} bytes, but had {} when the model was saved", size, before.bytes));
  }
  // Of a run that had written none yet, the header is known.
  const bool any = before.bytes > 0;
  const std::string known = any ? before.end : "row,prediction";
  std::string found(known.size(), '\0');
  const auto at = static_cast<off_t>(any ? before.bytes - known.size() : 0);
  found.resize(
      static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(::fileno(file_), found.data(), found.size(), at))));
  if (any ? found != known : !known.starts_with(found)) fail("it is not the file that they were written to");
  bytes_cut_ = size - before.bytes;
  if (bytes_cut_ > 0 && ::ftruncate(::fileno(file_), static_cast<off_t>(before.bytes)) != 0) fail(std::strerror(errno));
  if (std::fseek(file_, 0, SEEK_END) != 0) fail(std::strerror(errno));
  needs_header_ = before.bytes == 0;
}

PredictionWriter::~PredictionWriter() {
  if (file_ != stdout) std::fclose(file_);
}

void PredictionWriter::begin(std::uint64_t row, const char* columns, Kept kept) {
  std::string text;
  if (std::exchange(needs_header_, false)) {
    text = "row";
    for (const std::string& column : kept_columns_) text += "," + csv_bytes(column);
    text += fmt::format(",{}\n", columns);
  }
  text += std::to_string(row);
  for (std::size_t i = 0; i < kept_columns_.size(); ++i) text += "," + (i < kept.size() ? csv_bytes(kept[i]) : "");
  write(text);
}

void PredictionWriter::add(std::uint64_t row, double prediction, Kept kept) {
  begin(row, "prediction", kept);
  write(fmt::format(",{}\n", format_number(prediction)));
}

void PredictionWriter::add(std::uint64_t row, const std::string& label, double probability, Kept kept) {
  begin(row, "prediction,probability", kept);
  write(fmt::format(",{},{}\n", csv_bytes(label), format_number(probability)));
}

void PredictionWriter::add_nothing(std::uint64_t row, bool classes) {
  begin(row, classes ? "prediction,probability" : "prediction", {});
  write(classes ? ",,\n" : ",\n");
}

void PredictionWriter::write(std::string_view text) {
  if (failed()) return;
  const bool written =
      file_ == stdout ? print_data(text) : std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  if (!written) error_ = errno;
  note(text);
}

void PredictionWriter::note(std::string_view text) {
  constexpr std::size_t enough = 64;
  written_.bytes += text.size();
  written_.end += text;
  if (written_.end.size() > 2 * enough) written_.end.erase(0, written_.end.size() - enough);
}

void PredictionWriter::sync() {
  flush();
  if (file_ != stdout && ::fsync(::fileno(file_)) != 0 && errno != EINVAL) {
    throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  }
}

void PredictionWriter::flush() {
  if (file_ == stdout) return;
  if (!failed() && std::fflush(file_) != 0) error_ = errno;
  if (failed()) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(error_)));
}

void check_predictions_file(const TrainOptions& options, const std::string& model) {
  for (const std::string& other : {options.spec.data.path, model, partial_path(model), options.resume}) {
    std::error_code ignored;
    const bool same = !other.empty() && (options.predictions == other ||
                                         std::filesystem::equivalent(options.predictions, other, ignored));
    if (!same) continue;
    throw FileError(fmt::format("cannot write predictions to {}: that is the {}", quoted_path(options.predictions),
                                other == options.spec.data.path ? "data" : "model"));
  }
}

std::unique_ptr<PredictionWriter> open_predictions(const std::string& path, const std::string& resume,
                                                   const std::optional<StreamInput>& before, std::uint64_t rows) {
  using Mode = PredictionWriter::Mode;
  std::error_code fault;
  if (before && !before->knows_predictions) return std::make_unique<PredictionWriter>(path, Mode::append);
  if (!before || !std::filesystem::is_regular_file(path, fault)) {
    if (before && rows > 0 && !std::filesystem::exists(path, fault)) {
      print_error("ignd: {} is new: it will hold the predictions from row {} on\n", quoted_path(path),
                  with_commas(rows + 1));
    }
    return std::make_unique<PredictionWriter>(path, Mode::replace);
  }
  if (!before->predictions) {
    if (std::filesystem::file_size(path, fault) == 0) return std::make_unique<PredictionWriter>(path, Mode::replace);
    throw FileError(
        fmt::format("cannot append predictions to {}: the run that {} is the model of wrote none, so they "
                    "are not its own; name another file",
                    quoted_path(path), quoted_path(resume)));
  }
  auto writer = std::make_unique<PredictionWriter>(path, *before->predictions);
  if (writer->bytes_cut() > 0) {
    print_error("ignd: {} bytes of {} were written after the model was saved; they are cut off, to be written again\n",
                with_commas(writer->bytes_cut()), quoted_path(path));
  }
  return writer;
}

}  // namespace ignd::cli
