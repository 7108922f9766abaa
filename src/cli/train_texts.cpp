// Texts to train on: files in class folders, or a column of a table.
#include "cli/class_data.hpp"
#include "cli/training_data.hpp"
#include "data/catalogue.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"
#include "ignd/network.hpp"
#include "learn/text_dataset.hpp"
#include "models/model_specs.hpp"

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Shape text_shape(std::size_t length) { return Shape::tokens(length, cl100k_vocabulary); }

void check_text(const TrainOptions& options) {
  const RunSpec& spec = options.spec;
  if (!spec.text.empty()) {
    if (spec.dataset.target.empty()) spec.data.refuse_without_target();
    if (spec.dataset.target == spec.text) throw InvalidArgument("--text and --target name the same column");
    spec.data.dialect();
  } else {
    refuse_options(options, {"--target", "--format", "--delimiter", "--header"},
                   " cannot be given for files of text: their folders are their classes");
  }
  check_class_options(options, "texts");
  check_network(named_network(spec.training.model, text_shape(spec.length)));
}

std::unique_ptr<TrainingData> read_text_data(const TrainOptions& options) {
  const Tokenizer tokenizer = read_cl100k(find_data("cl100k-base"));
  const TextColumns columns{.text = options.spec.text, .target = options.spec.dataset.target, .classes = {}};
  auto texts = std::make_shared<const TextSet>(
      !options.spec.text.empty() ? read_text_table(options.spec.data, columns, tokenizer, options.spec.length)
                                 : read_text_files(options.spec.data.path, tokenizer, options.spec.length));
  TextDataset::Reader reader{.length = options.spec.length,
                             .vocabulary = tokenizer.vocabulary(),
                             .text_column = columns.text,
                             .target_column = columns.target};
  ClassDataParts parts{.task = std::make_unique<TextDataset>(texts, std::move(reader), options.spec.dataset),
                       .shape = text_shape(options.spec.length),
                       .samples = "texts",
                       .size_key = "tokens",
                       .size_value = options.spec.length,
                       .details = {fmt::format("the last {} tokens of each", options.spec.length)},
                       .skipped = texts->skipped()};
  if (!texts->header_note().empty()) parts.details.push_back(texts->header_note());
  return make_class_data(std::move(parts));
}

}  // namespace

const TrainingKind text_training{"texts", "texts", text_model_kind, RunKey::texts, check_text, read_text_data};

}  // namespace ignd::cli
