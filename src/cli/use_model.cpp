#include "cli/use_model.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <fmt/format.h>

namespace ignd::cli {
namespace {

void refuse_table_options(const UseOptions& options, const char* samples) {
  std::vector<std::string> found;
  if (!options.data.format.empty()) found.emplace_back("--format");
  if (!options.data.delimiter.empty()) found.emplace_back("--delimiter");
  if (!options.data.header.empty()) found.emplace_back("--header");
  if (!options.data.decimal.empty()) found.emplace_back("--decimal");
  if (options.weight) found.emplace_back("--weight");
  if (!options.keep.empty()) found.emplace_back("--keep");
  if (options.skips_bad_rows()) found.emplace_back("--bad-rows");
  if (!found.empty()) throw InvalidArgument(fmt::format("{} cannot be given for {}", join(found, ", "), samples));
}

}  // namespace

NewData new_data(const UseOptions& options, const TrainedModel& model) {
  const bool of_texts = model.kind() == ModelKind::texts;
  if (of_texts && options.weight) throw InvalidArgument("--weight cannot be given for texts");
  if (!model.reads_table(options.data)) {
    refuse_table_options(options, of_texts ? "files of text" : model.samples());
  } else if (of_texts && (!options.keep.empty() || options.skips_bad_rows())) {
    throw InvalidArgument(
        "--keep and --bad-rows cannot be given for a model of texts; join its predictions by their row");
  }
  return {
      .file = options.data, .keep = options.keep, .weight = options.weight, .skip_bad_rows = options.skips_bad_rows()};
}

}  // namespace ignd::cli
