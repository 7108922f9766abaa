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

void complete_text(TrainOptions& options) {
  if (options.text) {
    if (options.task.target.empty()) options.data.refuse_without_target();
    if (options.task.target == *options.text) throw InvalidArgument("--text and --target name the same column");
    options.data.dialect();
  } else {
    refuse_options(options, {"--target", "--format", "--delimiter", "--header"},
                   " cannot be given for files of text: their folders are their classes");
  }
  refuse_options(options, {"--size"}, " can only be given for images");
  complete_class_options(options, "lstm:128x128", "texts");
  check_network(named_network(options.run.model, text_shape(options.length)));
}

std::unique_ptr<TrainingData> read_text_data(const TrainOptions& options) {
  const Tokenizer tokenizer = read_cl100k(find_data("cl100k-base"));
  const TextColumns columns{.text = options.text.value_or(""), .target = options.task.target, .classes = {}};
  auto texts =
      std::make_shared<const TextSet>(options.text ? read_text_table(options.data, columns, tokenizer, options.length)
                                                   : read_text_files(options.data.path, tokenizer, options.length));
  TextDataset::Reader reader{.length = options.length,
                             .vocabulary = tokenizer.vocabulary(),
                             .text_column = columns.text,
                             .target_column = columns.target};
  ClassDataParts parts{.task = std::make_unique<TextDataset>(texts, std::move(reader), class_task_options(options)),
                       .shape = text_shape(options.length),
                       .samples = "texts",
                       .size_key = "tokens",
                       .size_value = options.length,
                       .details = {fmt::format("the last {} tokens of each", options.length)},
                       .skipped = texts->skipped()};
  if (!texts->header_note().empty()) parts.details.push_back(texts->header_note());
  return make_class_data(std::move(parts));
}

}  // namespace

const DataKind text_data{"texts", text_model_kind, complete_text, read_text_data};

}  // namespace ignd::cli
