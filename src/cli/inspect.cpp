#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"

#include <string>
#include <variant>

namespace ignd::cli {
namespace {

void print_summary(const std::string& target, const ModelDescription& about) {
  for (const std::string& line : about.lines) print("{}\n", line);
  print("target{}{}: {}\n", target.empty() ? "" : " ", for_terminal(target), about.target);
  if (!about.inputs.empty()) print("  {}\n", about.inputs);
  for (const ColumnCode& code : about.columns) print("  {:<20} {}\n", for_terminal(code.name), describe(code));
  print_formats(about.formats);
}

void print_json(const std::string& kind, const ModelDescription& about) {
  JsonLine line("model");
  line.set("kind", kind);
  for (const auto& [name, fact] : about.facts) {
    std::visit([&line, &key = name](const auto& value) { line.set(key, value); }, fact);
  }
  if (!about.columns.empty()) set_columns(line, about.columns);
  set_formats(line, about.formats);
  line.print();
}

}  // namespace

int inspect(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  const auto model = TrainedModel::load(options.model, checkpoint);
  const ModelDescription about = model->describe(checkpoint);
  if (options.json) {
    print_json(checkpoint.text("kind"), about);
  } else {
    print_summary(model->target_name(), about);
  }
  return 0;
}

}  // namespace ignd::cli
