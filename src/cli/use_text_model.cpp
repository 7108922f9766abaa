#include "cli/use_text_model.hpp"

#include "base/text.hpp"
#include "cli/class_predictions.hpp"
#include "cli/model_summary.hpp"
#include "cli/output.hpp"
#include "cli/save_model.hpp"
#include "cli/training_data.hpp"
#include "data/catalogue.hpp"
#include "data/class_files.hpp"
#include "data/data_file.hpp"
#include "data/text_set.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"
#include "learn/file_dataset.hpp"
#include "learn/text_model.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Tokenizer tokenizer_for(const TextModel& model) {
  Tokenizer tokenizer = read_cl100k(find_data("cl100k-base"));
  if (tokenizer.vocabulary() == model.reader.vocabulary) return tokenizer;
  throw FileError(fmt::format("the model knows {} tokens, but there are {}; it was trained with another vocabulary",
                              model.reader.vocabulary, tokenizer.vocabulary()));
}

// A model that learned from a column reads one, unless it is given files of text.
bool reads_column(const TextModel& model, const UseOptions& options) {
  const DataFile& data = options.data;
  const bool is_text = is_text_name(data.path) && data.format.empty();
  return !model.reader.text_column.empty() && !holds_files(data.path) && !is_text;
}

// With the classes of their folders, or of the target column if that is asked for.
TextSet read_texts(const TextModel& model, const UseOptions& options, bool with_target) {
  if (reads_column(model, options)) {
    if (!options.keep.empty() || options.skips_bad_rows()) {
      throw InvalidArgument(
          "--keep and --bad-rows cannot be given for a model of texts; join its predictions by their row");
    }
    TextColumns columns{.text = model.reader.text_column, .target = {}, .classes = {}};
    if (with_target) {
      columns.target = model.reader.target_column;
      columns.classes = model.target.classes;
    }
    const Tokenizer tokenizer = tokenizer_for(model);
    try {
      return read_text_table(options.data, columns, tokenizer, model.reader.length);
    } catch (const InvalidArgument& fault) {
      throw FileError(fmt::format("{} does not fit the model: {}", options.data.name(), fault.what()));
    }
  }
  if (options.data.path == "-") throw InvalidArgument("files of text cannot come from the standard input");
  refuse_table_options(options, "files of text");
  if (is_table_name(options.data.path)) {
    throw FileError(
        fmt::format("{} is a table, but the model learned from files of one text each", options.data.name()));
  }
  TextSet texts = read_text_files(options.data.path, tokenizer_for(model), model.reader.length, with_target);
  warn_of_skipped(texts.skipped());
  return texts;
}

}  // namespace

bool is_text_model(const Checkpoint& checkpoint) {
  return checkpoint.has("kind") && checkpoint.text("kind") == text_model_kind;
}

int predict_texts(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<TextModel>(options.model, checkpoint);
  if (!options.output.empty()) check_can_save(options.output, options.data);
  const TextSet texts = read_texts(model, options, false);
  ClassPredictions predictions(model, reads_column(model, options) ? "row" : "file");
  Trace<float> trace(*model.model);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    predictions.add(texts.name(i), model.model->predict({.values = {}, .index = texts.tokens(i)}, trace));
  }
  predictions.write(options.output);
  return 0;
}

int evaluate_texts(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<TextModel>(options.model, checkpoint);
  if (options.weight) throw InvalidArgument("--weight cannot be given for texts");
  auto texts = std::make_shared<const TextSet>(read_texts(model, options, true));
  check_classes(options, texts->classes(), model.target);
  const TextDataset task(texts, model.reader, model.target.classes.at(1));
  Trace<float> trace(*model.model);
  const auto& rows = task.split().test;
  const Scores quality = evaluate(task, rows, [&](const Input<float>& x) { return model.model->predict(x, trace); });
  print_evaluation(options, model, quality, rows.size(), "texts");
  return 0;
}

int inspect_texts(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<TextModel>(options.model, checkpoint);
  const TextDataset::Reader& reader = model.reader;
  if (options.json) {
    auto line = summary_line(model, checkpoint);
    line.set("tokens", std::uint64_t{reader.length}).set("vocabulary", std::uint64_t{reader.vocabulary});
    if (!reader.text_column.empty()) line.set("text", reader.text_column);
    line.print();
    return 0;
  }
  print_summary(model, checkpoint);
  print("  {}: the last {} tokens of each, of a vocabulary of {}\n",
        reader.text_column.empty() ? "files of text" : "the texts in column " + reader.text_column, reader.length,
        reader.vocabulary);
  return 0;
}

}  // namespace ignd::cli
