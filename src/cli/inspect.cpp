#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/result_tables.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Words = std::vector<std::string>;

// The scores on each part as a table.
std::vector<std::vector<Words>> score_tables(const ModelFacts& made) {
  std::vector<std::vector<Words>> tables;
  for (const ModelFacts::Scored& one : made.scored) {
    if (tables.empty() || tables.back()[0][0] != one.part) {
      tables.push_back({{one.part}});
      for (const auto& [name, value] : one.scores) tables.back()[0].push_back(name);
    }
    auto& lines = tables.back();
    Words line{one.predictor};
    for (std::size_t k = 1; k < lines[0].size(); ++k) {
      const auto found = std::ranges::find(one.scores, lines[0][k], [](const auto& score) { return score.first; });
      line.push_back(found == one.scores.end() ? std::string(not_available) : in_short(found->second));
    }
    lines.push_back(std::move(line));
  }
  return tables;
}

void print_summary(const std::string& target, const ModelDescription& about) {
  for (const std::string& line : about.lines) print("{}\n", line);
  print("target{}{}: {}\n", target.empty() ? "" : " ", for_terminal(target), about.target);
  if (!about.inputs.empty()) print("  {}\n", about.inputs);
  for (const ColumnCode& code : about.columns) print("  {:<20} {}\n", for_terminal(code.name), describe(code));
  print_formats(about.formats);
  if (!about.made) return;
  print("{}\n", for_terminal(about.made->command));
  for (const auto& [name, text] : card_of(target, about)) {
    if (name == "program" || name == "data" || name == "checksum as read")
      print("  {:<20} {}\n", name, for_terminal(text));
  }
  for (const auto& lines : score_tables(*about.made)) print("\n{}", aligned(lines));
}

void set_facts(JsonLine& line, const ModelFacts& made) {
  line.set("version", made.version).set("command", made.command).set("data", made.data);
  if (!made.sha256.empty()) line.set("sha256", made.sha256);
  line.set("checksum", fmt::format("{:016x}", made.fingerprint)).set("seed", made.seed);
  line.set("samples.train", made.train).set("samples.validation", made.validation).set("samples.test", made.test);
  for (const auto& [part, predictor, scores] : made.scored) {
    const bool model = predictor == "model";
    const std::string prefix = model ? "metrics." + part : "baselines." + json_key(predictor) + "." + part;
    for (const auto& [name, value] : scores) line.set(prefix + "." + name, value);
  }
}

void print_json(const std::string& kind, const ModelDescription& about) {
  JsonLine line("model");
  line.set("kind", kind);
  for (const auto& [name, fact] : about.facts) {
    std::visit([&line, &key = name](const auto& value) { line.set(key, value); }, fact);
  }
  if (!about.columns.empty()) set_columns(line, about.columns);
  set_formats(line, about.formats);
  if (about.made) set_facts(line, *about.made);
  line.print();
}

std::string markdown_row(const Words& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + markdown_text(cell) + " |";
  return row + "\n";
}

std::string markdown_table(const Words& header, const std::vector<Words>& rows) {
  std::string text = "\n" + markdown_row(header) + "|";
  for (std::size_t k = 0; k < header.size(); ++k) text += k == 0 ? "---|" : "---:|";
  text += "\n";
  for (const Words& row : rows) text += markdown_row(row);
  return text;
}

void print_markdown(const std::string& target, const ModelDescription& about) {
  std::string text = "# Model card";
  if (!target.empty()) text += ": " + markdown_text(target);
  text += "\n\n";
  for (const auto& [name, what] : card_of(target, about)) {
    text += fmt::format("- **{}**: {}\n", name, markdown_text(what));
  }
  if (about.made && !about.made->scored.empty()) {
    text += "\n## Scores\n";
    for (const auto& lines : score_tables(*about.made)) {
      text += markdown_table(lines[0], {lines.begin() + 1, lines.end()});
    }
  }
  if (!about.columns.empty()) {
    text += "\n## Columns\n\n| column | becomes |\n|---|---|\n";
    for (const ColumnCode& code : about.columns) text += markdown_row({code.name, describe(code)});
  }
  print_data(text);
}

}  // namespace

int inspect(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  const auto model = TrainedModel::load(options.model, checkpoint);
  const ModelDescription about = model->describe(checkpoint);
  if (options.json) {
    print_json(checkpoint.text("kind"), about);
  } else if (options.markdown) {
    print_markdown(model->target_name(), about);
  } else {
    print_summary(model->target_name(), about);
  }
  return 0;
}

}  // namespace ignd::cli
