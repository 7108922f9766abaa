#include "cli/use_model.hpp"

#include "cli/json_line.hpp"
#include "cli/output.hpp"
#include "cli/prediction_writer.hpp"
#include "cli/quality_table.hpp"
#include "cli/save_model.hpp"
#include "cli/stream_model.hpp"
#include "cli/use_stream_model.hpp"
#include "core/atomic_file.hpp"
#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/table_model.hpp"

#include <cstdio>
#include <iterator>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

TableModel load(const std::string& path, const Checkpoint& checkpoint) {
  try {
    return TableModel::load(checkpoint);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

// Columns that the model knows as texts are texts, even if here they hold nothing but numbers.
Table read(const DataFile& data, const TableModel& model) {
  std::vector<std::string> texts = model.encoder.text_columns();
  if (model.target.text) texts.push_back(model.target.name);
  return data.read(texts);
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
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return predict_stream(options, checkpoint);
  const TableModel model = load(options.model, checkpoint);
  const bool to_file = !options.output.empty();
  if (to_file) check_can_save(options.output, options.data);
  const Table table = read(options.data, model);
  const auto at = blaming(options.data, [&] { return model.encoder.match(table); });
  std::vector<std::string> classes;
  for (const std::string& name : model.target.classes) classes.push_back(as_field(name));
  Trace<float> trace(*model.model);
  std::vector<float> x(model.encoder.features());
  std::size_t unknown = 0;
  std::string out = classes.empty() ? "row,prediction\n" : "row,prediction,probability\n";
  constexpr std::size_t enough = std::size_t{1} << 16;
  for (std::size_t row = 0; row < table.size(); ++row) {
    unknown += model.encoder.encode(table[row], at, x);
    const double output = model.model->predict({x}, trace);
    const double prediction = model.prediction(output);
    if (classes.empty()) {
      fmt::format_to(std::back_inserter(out), "{},{:.9g}\n", row + 1, prediction);
    } else {
      fmt::format_to(std::back_inserter(out), "{},{},{:.9g}\n", row + 1, classes[output >= 0 ? 1 : 0], prediction);
    }
    if (to_file || out.size() < enough) continue;
    print("{}", out);
    if (std::ferror(stdout) != 0) return 0;  // which main.cpp turns into a failure
    out.clear();
  }
  if (to_file) {
    write_file_atomically(options.output, out);
  } else {
    print("{}", out);
  }
  if (unknown > 0) {
    print_error("ignd: {} values were texts that training did not have; they count as none of the known ones\n",
                with_commas(unknown));
  }
  return 0;
}

int evaluate(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return evaluate_stream(options, checkpoint);
  const TableModel model = load(options.model, checkpoint);
  const Table table = read(options.data, model);
  const Quality quality = blaming(options.data, [&] {
    const TableTask task(table, model.encoder, model.target, model.loss, options.weight);
    Trace<float> trace(*model.model);
    return judge(task, task.split().test, [&](const Input<float>& x) { return model.model->predict(x, trace); });
  });
  if (!quality.regression && !quality.classification) throw Error("the model's predictions are not all finite numbers");
  if (options.json) {
    JsonLine line("result");
    line.set("rows", std::uint64_t{table.size()}).set("loss", model.loss);
    set_metrics(line, "metrics.test", quality);
    line.print();
  } else {
    print_table({fmt::format("{} rows", with_commas(table.size()))}, {{"model", {quality}}});
  }
  return 0;
}

int inspect(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return inspect_stream(options, checkpoint);
  const TableModel model = load(options.model, checkpoint);
  const Target& target = model.target;
  if (options.json) {
    JsonLine("model")
        .set("kind", checkpoint.text("kind"))
        .set("model", model.model->spec())
        .set("weights", std::uint64_t{model.model->parameters().size()})
        .set("loss", model.loss)
        .set("target", target.name)
        .set("features", std::uint64_t{model.encoder.features()})
        .set("rule", checkpoint.text("rule"))
        .set("transform", checkpoint.text("transform"))
        .set("schedule", checkpoint.text("schedule"))
        .set("steps", checkpoint.number("steps"))
        .set("status", checkpoint.text("run.status"))
        .print();
    return 0;
  }
  print("{} ({} weights), loss {}, {}\n", model.model->spec(), with_commas(model.model->parameters().size()),
        model.loss, checkpoint.text("run.status"));
  print("rule {}, transform {}, schedule {}, {} steps\n", checkpoint.text("rule"), checkpoint.text("transform"),
        checkpoint.text("schedule"), with_commas(checkpoint.number("steps")));
  print("target {}: {}\n", target.name, describe(target));
  for (const ColumnCode& code : model.encoder.columns()) print("  {:<20} {}\n", code.name, describe(code));
  return 0;
}

}  // namespace ignd::cli
