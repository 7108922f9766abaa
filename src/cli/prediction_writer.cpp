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

PredictionFormat::PredictionFormat(std::string first, std::span<const std::string> kept,
                                   std::span<const std::string> classes, AskedIntervals asked)
    : probabilities_(classes.size() == 2 ? 1 : classes.size()), asked_(asked), header_(std::move(first)) {
  for (const std::string& column : kept) header_ += "," + csv_bytes(column);
  header_ += ",prediction";
  if (asked_.intervals != nullptr) header_ += ",low,high";
  if (probabilities_ == 1) header_ += ",probability";
  if (probabilities_ > 1) {
    for (const std::string& name : classes) header_ += "," + csv_bytes("probability_" + name);
  }
  header_ += '\n';
}

void PredictionFormat::append(std::string& text, const PredictedSample& sample) const {
  const Prediction& prediction = sample.prediction;
  text += csv_bytes(prediction.name);
  for (const std::string& field : sample.kept) text += "," + csv_bytes(field);
  if (!sample.usable) {
    text.append(1 + probabilities_ + (asked_.intervals != nullptr ? 2 : 0), ',');
  } else if (prediction.probabilities.empty()) {
    text += "," + format_number(prediction.value);
    if (asked_.intervals == nullptr) return text.push_back('\n');
    const auto [low, high] = asked_.intervals->at(prediction.value, asked_.level);
    text += "," + format_number(low) + "," + format_number(high);
  } else {
    text += "," + csv_bytes(prediction.label);
    const auto shown = std::span(prediction.probabilities).last(probabilities_);
    for (const double probability : shown) text += "," + format_number(probability);
  }
  text += '\n';
}

PredictionLog::PredictionLog(std::string path, Mode mode)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), mode == Mode::append ? "a" : "w")) {
  if (file_ == nullptr) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  const long end = mode == Mode::replace ? 0 : std::ftell(file_);
  needs_header_ = end <= 0;
  if (end > 0) written_.bytes = static_cast<std::uint64_t>(end);
}

PredictionLog::PredictionLog(std::string path, const WrittenPredictions& before)
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

PredictionLog::~PredictionLog() { std::fclose(file_); }

void PredictionLog::add(const PredictionFormat& format, const PredictedSample& sample) {
  line_ = std::exchange(needs_header_, false) ? format.header() : "";
  format.append(line_, sample);
  if (failed()) return;
  if (std::fwrite(line_.data(), 1, line_.size(), file_) != line_.size()) error_ = errno;
  note(line_);
}

void PredictionLog::note(std::string_view text) {
  constexpr std::size_t enough = 64;
  written_.bytes += text.size();
  written_.end += text;
  if (written_.end.size() > 2 * enough) written_.end.erase(0, written_.end.size() - enough);
}

void PredictionLog::sync() {
  flush();
  if (::fsync(::fileno(file_)) != 0 && errno != EINVAL) {
    throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  }
}

void PredictionLog::flush() {
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

std::unique_ptr<PredictionLog> open_predictions(const std::string& path, const std::string& resume,
                                                const std::optional<StreamInput>& before, std::uint64_t rows) {
  using Mode = PredictionLog::Mode;
  std::error_code fault;
  if (before && !before->knows_predictions) return std::make_unique<PredictionLog>(path, Mode::append);
  if (!before || !std::filesystem::is_regular_file(path, fault)) {
    if (before && rows > 0 && !std::filesystem::exists(path, fault)) {
      print_error("ignd: {} is new: it will hold the predictions from row {} on\n", quoted_path(path),
                  with_commas(rows + 1));
    }
    return std::make_unique<PredictionLog>(path, Mode::replace);
  }
  if (!before->predictions) {
    if (std::filesystem::file_size(path, fault) == 0) return std::make_unique<PredictionLog>(path, Mode::replace);
    throw FileError(
        fmt::format("cannot append predictions to {}: the run that {} is the model of wrote none, so they "
                    "are not its own; name another file",
                    quoted_path(path), quoted_path(resume)));
  }
  auto writer = std::make_unique<PredictionLog>(path, *before->predictions);
  if (writer->bytes_cut() > 0) {
    print_error("ignd: {} bytes of {} were written after the model was saved; they are cut off, to be written again\n",
                with_commas(writer->bytes_cut()), quoted_path(path));
  }
  return writer;
}

}  // namespace ignd::cli
