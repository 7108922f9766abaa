#include "cli/use_model.hpp"

#include "cli/json_line.hpp"
#include "cli/report.hpp"
#include "core/atomic_file.hpp"
#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/table_model.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <thread>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

TableModel load(const UseOptions& options) {
  try {
    return TableModel::load(Checkpoint::read(options.model));
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{}: {}", quoted_path(options.model), fault.what()));
  }
}

Table read(const UseOptions& options, const TableModel& model) {
  TableOptions table{.dialect = {}, .threads = std::max(1U, std::min(2U, std::thread::hardware_concurrency()))};
  if (!options.delimiter.empty()) table.dialect.delimiter = options.delimiter == "tab" ? '\t' : options.delimiter[0];
  if (!options.header.empty()) table.dialect.header = options.header == "yes";
  table.texts = model.encoder.text_columns();
  if (model.target.text) table.texts.push_back(model.target.name);
  return Table::read_csv(options.data, table);
}

std::string columns_line(const ColumnCode& code) {
  constexpr const char* forms[] = {"dropped", "scaled", "one-hot", "hashed"};
  return fmt::format("{:<24} {:<8} {:<8} {} features", code.name, code.kind == ColumnKind::number ? "number" : "text",
                     forms[static_cast<std::size_t>(code.form)], code.features());
}

}  // namespace

int predict(const UseOptions& options) {
  const TableModel model = load(options);
  const Table table = read(options, model);
  const auto at = model.encoder.match(table);
  Trace<float> trace(*model.model);
  std::vector<float> x(model.encoder.features());
  const bool classes = model.target.is_class();
  std::string out = classes ? "row,prediction,probability\n" : "row,prediction\n";
  std::size_t unknown = 0;
  constexpr std::size_t flush_at = std::size_t{1} << 16;
  const bool to_file = !options.output.empty();
  for (std::size_t row = 0; row < table.size(); ++row) {
    unknown += model.encoder.encode(table[row], at, x);
    const double value = model.prediction(model.model->predict({x}, trace));
    if (classes) {
      const std::string& name = model.target.classes[value >= 0.5 ? 1 : 0];
      const bool plain = name.find_first_of(",\"\n\r") == std::string::npos;
      std::string quoted = name;
      if (!plain) {
        quoted = "\"";
        for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
        quoted += '"';
      }
      fmt::format_to(std::back_inserter(out), "{},{},{:.9g}\n", row + 1, quoted, value);
    } else {
      fmt::format_to(std::back_inserter(out), "{},{:.9g}\n", row + 1, value);
    }
    if (to_file || out.size() < flush_at) continue;
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) return 1;  // nobody reads any more
    out.clear();
  }
  if (to_file) {
    write_file_atomically(options.output, out);
  } else {
    std::fwrite(out.data(), 1, out.size(), stdout);
  }
  if (unknown > 0) {
    fmt::print(stderr, "ignd: {} values were texts that training did not have; they count as none of the known ones\n",
               with_commas(unknown));
  }
  return 0;
}

int evaluate(const UseOptions& options) {
  const TableModel model = load(options);
  const Table table = read(options, model);
  const TableTask task(table, model.encoder, model.target, model.loss);
  Trace<float> trace(*model.model);
  const Quality quality =
      judge(task, task.split().test, [&](std::span<const float> x) { return model.model->predict({x}, trace); });
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
  if (!checkpoint.has("kind"))
    throw FileError(fmt::format("{} is not a model of this tool", quoted_path(options.model)));
  const TableModel model = TableModel::load(checkpoint);
  const std::string status = checkpoint.has("run.status") ? checkpoint.text("run.status") : "unknown";
  if (options.json) {
    JsonLine("model")
        .set("kind", checkpoint.text("kind"))
        .set("model", model.model->spec())
        .set("weights", std::uint64_t{model.model->parameters().size()})
        .set("loss", model.loss)
        .set("target", model.target.name)
        .set("features", std::uint64_t{model.encoder.features()})
        .set("rule", checkpoint.text("rule"))
        .set("transform", checkpoint.text("transform"))
        .set("schedule", checkpoint.text("schedule"))
        .set("steps", checkpoint.number("steps"))
        .set("status", status)
        .print();
    return 0;
  }
  fmt::print("{} ({} weights), loss {}, {}\n", model.model->spec(), with_commas(model.model->parameters().size()),
             model.loss, status);
  fmt::print("rule {}, transform {}, schedule {}, {} steps\n", checkpoint.text("rule"), checkpoint.text("transform"),
             checkpoint.text("schedule"), with_commas(checkpoint.number("steps")));
  if (model.target.is_class()) {
    fmt::print("target {}: {} or {}\n", model.target.name, model.target.classes[0], model.target.classes[1]);
  } else {
    fmt::print("target {}: number, mean {:.6g}, deviation {:.6g}\n", model.target.name, model.target.mean,
               model.target.deviation);
  }
  for (const ColumnCode& code : model.encoder.columns()) fmt::print("  {}\n", columns_line(code));
  return 0;
}

}  // namespace ignd::cli
