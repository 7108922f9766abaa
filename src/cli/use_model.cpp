#include "cli/use_model.hpp"

#include "cli/class_columns.hpp"
#include "cli/model_summary.hpp"
#include "cli/output.hpp"
#include "cli/quality_table.hpp"
#include "cli/save_model.hpp"
#include "cli/stream_model.hpp"
#include "cli/use_image_model.hpp"
#include "cli/use_stream_model.hpp"
#include "cli/use_text_model.hpp"
#include "core/atomic_file.hpp"
#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/model_outputs.hpp"
#include "train/table_model.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

// Columns that the model knows as texts are texts, even if here they hold nothing but numbers.
Table read(const DataFile& data, const TableModel& model) {
  std::vector<std::string> texts = model.encoder.text_columns();
  std::map<std::string, CellFormat> formats = model.encoder.formats();
  if (model.target.text) {
    texts.push_back(model.target.name);
  } else if (model.target.format.kind != CellFormat::Kind::plain) {
    formats[model.target.name] = model.target.format;
  }
  DataFile with_columns = data;
  for (const ColumnCode& code : model.encoder.columns()) with_columns.columns.push_back(code.name);
  return with_columns.read(texts, std::move(formats));
}

// What the model knows how to read, and could not.
void print_unfit(const Table& table) {
  for (const Column& column : table.columns()) {
    if (column.unfit == 0) continue;
    print_error("ignd: column {}: {} cell{} not a {} as in training and count{} as missing, such as {}\n",
                in_quotes(column.name), with_commas(column.unfit), column.unfit == 1 ? " is" : "s are",
                column.format.describe(), column.unfit == 1 ? "s" : "", in_quotes(column.unfit_cell));
  }
}

// Runs `use` on the data; what it finds wrong is wrong with the file.
template <class Use>
auto blaming(const DataFile& data, Use use) -> decltype(use()) {
  try {
    return use();
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}, {}", data.name(), fault.what()));
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", data.name(), fault.what()));
  }
}

}  // namespace

int predict(const UseOptions& options) {
  if (!options.output.empty()) refuse_same_file(options.output, options.model, "the model");
  refuse_model(options.data.path);
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return predict_stream(options, checkpoint);
  if (is_image_model(checkpoint)) return predict_images(options, checkpoint);
  if (is_text_model(checkpoint)) return predict_texts(options, checkpoint);
  const auto model = load_model<TableModel>(options.model, checkpoint);
  const bool to_file = !options.output.empty();
  if (to_file) check_can_save(options.output, options.data);
  const Table table = read(options.data, model);
  const auto at = blaming(options.data, [&] { return model.encoder.match(table); });
  ClassColumns classes(model.target);
  ModelOutputs outputs_of(*model.model);
  std::vector<double> outputs(outputs_of.count());
  std::vector<float> x(model.encoder.features());
  std::size_t unknown = 0;
  const bool predicts_classes = model.target.is_class();
  std::string out = "row" + (predicts_classes ? classes.header() : ",prediction") + "\n";
  constexpr std::size_t enough = std::size_t{1} << 16;
  for (std::size_t row = 0; row < table.size(); ++row) {
    unknown += model.encoder.encode(table[row], at, x);
    outputs_of({x}, outputs);
    out += std::to_string(row + 1);
    if (predicts_classes) {
      classes.append(out, outputs);
    } else {
      out += fmt::format(",{:.9g}", model.prediction(outputs[0]));
    }
    out += '\n';
    if (to_file || out.size() < enough) continue;
    print_data(out);
    if (std::ferror(stdout) != 0) return 0;  // which main.cpp turns into a failure
    out.clear();
  }
  if (to_file) {
    write_file_atomically(options.output, out);
  } else {
    print_data(out);
  }
  print_unfit(table);
  if (unknown > 0) {
    print_error("ignd: {} values were texts that training did not have; they count as none of the known ones\n",
                with_commas(unknown));
  }
  return 0;
}

int evaluate(const UseOptions& options) {
  refuse_model(options.data.path);
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return evaluate_stream(options, checkpoint);
  if (is_image_model(checkpoint)) return evaluate_images(options, checkpoint);
  if (is_text_model(checkpoint)) return evaluate_texts(options, checkpoint);
  const auto model = load_model<TableModel>(options.model, checkpoint);
  const Table table = read(options.data, model);
  const Quality quality = blaming(options.data, [&] {
    const TableTask task(table, model.encoder, model.target, model.loss, options.weight);
    ModelOutputs outputs_of(*model.model);
    return judge(task, task.split().test,
                 [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); });
  });
  print_evaluation(options, model, quality, table.size(), "rows");
  print_unfit(table);
  return 0;
}

int inspect(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return inspect_stream(options, checkpoint);
  if (is_image_model(checkpoint)) return inspect_images(options, checkpoint);
  if (is_text_model(checkpoint)) return inspect_texts(options, checkpoint);
  const auto model = load_model<TableModel>(options.model, checkpoint);
  if (options.json) {
    JsonLine line = summary_line(model, checkpoint);
    line.set("features", std::uint64_t{model.encoder.features()});
    set_columns(line, model.encoder.columns());
    line.print();
    return 0;
  }
  print_summary(model, checkpoint);
  for (const ColumnCode& code : model.encoder.columns())
    print("  {:<20} {}\n", for_terminal(code.name), describe(code));
  return 0;
}

}  // namespace ignd::cli
