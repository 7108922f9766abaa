#include "cli/stream_predictions.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/save_model.hpp"
#include "ignd/error.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace ignd::cli {

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
