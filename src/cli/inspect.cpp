#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "learn/run.hpp"
#include "learn/stream_model.hpp"

#include <string>
#include <variant>

namespace ignd::cli {
namespace {

// A model that was saved without the state of its training run has none of these entries.
std::string text_in(const Checkpoint& checkpoint, const char* name) {
  return checkpoint.has(name) ? checkpoint.text(name) : "";
}

void print_summary(const TrainedModel& model, const Checkpoint& checkpoint) {
  const std::string status = text_in(checkpoint, "run.status");
  print("{} ({} weights), loss {}{}\n", model.model().spec(), with_commas(model.model().parameters().size()),
        model.loss(), status.empty() ? "" : ", " + status);
  if (!status.empty()) {
    const std::string batch = batch_of_saved(checkpoint);
    print("rule {}, transform {}{}, schedule {}, {} steps\n", checkpoint.text("rule"), checkpoint.text("transform"),
          batch.empty() ? "" : ", batch " + batch, checkpoint.text("schedule"),
          with_commas(checkpoint.number("steps")));
  }
  print("target {}: {}\n", for_terminal(model.target().name), describe(model.target()));
  const InputDescription inputs = model.inputs();
  if (!inputs.text.empty()) print("  {}\n", inputs.text);
  for (const ColumnCode& code : inputs.columns) print("  {:<20} {}\n", for_terminal(code.name), describe(code));
}

void print_json(const TrainedModel& model, const Checkpoint& checkpoint) {
  JsonLine line("model");
  line.set("kind", checkpoint.text("kind"))
      .set("model", model.model().spec())
      .set("weights", std::uint64_t{model.model().parameters().size()})
      .set("loss", model.loss())
      .set("target", model.target().name);
  if (const std::string status = text_in(checkpoint, "run.status"); !status.empty()) {
    line.set("rule", checkpoint.text("rule"))
        .set("transform", checkpoint.text("transform"))
        .set("schedule", checkpoint.text("schedule"))
        .set("steps", checkpoint.number("steps"))
        .set("status", status);
  }
  if (const std::string batch = batch_of_saved(checkpoint); !batch.empty()) line.set("batch", batch);
  const InputDescription inputs = model.inputs();
  for (const auto& [name, fact] : inputs.facts) {
    std::visit([&line, &key = name](const auto& value) { line.set(key, value); }, fact);
  }
  if (model.kind() == ModelKind::table) set_columns(line, inputs.columns);
  line.print();
}

}  // namespace

int inspect(const UseOptions& options) {
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return inspect_stream(options, checkpoint);
  const auto model = TrainedModel::load(options.model, checkpoint);
  if (options.json) {
    print_json(*model, checkpoint);
  } else {
    print_summary(*model, checkpoint);
  }
  return 0;
}

}  // namespace ignd::cli
