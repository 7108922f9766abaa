#include "cli/use_model.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cli/class_columns.hpp"
#include "cli/model_summary.hpp"
#include "cli/output.hpp"
#include "cli/quality_table.hpp"
#include "cli/save_model.hpp"
#include "cli/use_image_model.hpp"
#include "cli/use_stream_model.hpp"
#include "cli/use_text_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/model_outputs.hpp"
#include "learn/stream_model.hpp"
#include "learn/table_model.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Table read(const UseOptions& options, const TableModel& model, bool with_target) {
  TableOptions rules = reading_rules(model);
  rules.keep = options.keep;
  rules.skip_bad_rows = options.skips_bad_rows();
  DataFile data = options.data;
  for (const ColumnCode& code : model.encoder.columns()) data.columns.push_back(code.name);
  if (with_target && !model.target.text) rules.formats[model.target.name] = model.target.format;
  if (options.weight) rules.formats.try_emplace(*options.weight);
  return data.read(rules);
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
  const Table table = read(options, model, false);
  const auto at = blaming(options.data, [&] { return model.encoder.match(table); });
  ClassColumns classes(model.target);
  ModelOutputs outputs_of(*model.model);
  std::vector<double> outputs(outputs_of.count());
  std::vector<float> x(model.encoder.features());
  std::size_t unknown = 0;
  const bool predicts_classes = model.target.is_class();
  const std::string header = predicts_classes ? classes.header() : ",prediction";
  const std::string no_prediction(static_cast<std::size_t>(std::ranges::count(header, ',')), ',');
  std::string out = "row";
  for (const std::string& column : options.keep) out += "," + csv_bytes(column);
  out += header + "\n";
  constexpr std::size_t enough = std::size_t{1} << 16;
  for (std::size_t row = 0; row < table.size(); ++row) {
    out += std::to_string(row + 1);
    for (const std::string& field : table.kept(row)) out += "," + csv_bytes(field);
    if (table.is_bad(row)) {
      out += no_prediction;
    } else {
      unknown += model.encoder.encode(table[row], at, x);
      outputs_of({x}, outputs);
      if (predicts_classes) {
        classes.append(out, outputs);
      } else {
        out += "," + format_number(model.prediction(outputs[0]));
      }
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
  if (const std::size_t bad = table.bad_rows().size(); bad > 0) {
    print_error("ignd: {} of {} rows {} no prediction; {}{}\n", with_commas(bad), with_commas(table.size()),
                bad == 1 ? "has" : "have", bad == 1 ? "" : "the first is ", table.first_fault());
  }
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
  const Table table = read(options, model, true);
  std::string left_out;
  std::uint64_t rows = 0;
  const Scores quality = blaming(options.data, [&] {
    const TableDataset task(table, model.encoder, model.target, model.loss, options.weight, options.skips_bad_rows());
    left_out = left_out_text(task);
    rows = task.split().test.size();
    ModelOutputs outputs_of(*model.model);
    return evaluate(task, task.split().test,
                    [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); });
  });
  if (!left_out.empty()) print_error("ignd: {}\n", left_out);
  print_evaluation(options, model, quality, rows, "rows", table.size() - rows);
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
