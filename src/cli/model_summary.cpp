#include "cli/model_summary.hpp"

#include "cli/confusion_table.hpp"
#include "cli/output.hpp"
#include "cli/quality_table.hpp"

#include <algorithm>

namespace ignd::cli {
namespace {

// How batches were stepped; "" where single samples were.
std::string batch_in(const Checkpoint& checkpoint) {
  return checkpoint.has("run.option.batch") ? checkpoint.text("run.option.batch") : "";
}

}  // namespace

void print_evaluation(const UseOptions& options, const TrainedModel& model, const Scores& quality, std::uint64_t count,
                      const std::string& samples, std::uint64_t left_out) {
  if (!quality.is_measured()) throw Error("the model's predictions are not all finite numbers");
  if (!options.json) {
    print_table({fmt::format("{} {}", with_commas(count), samples)}, {{"model", {quality}}});
    print("{}", confusion_text(quality, model.target.classes));
    return;
  }
  JsonLine line("result");
  line.set(samples, count).set("loss", model.loss);
  if (left_out > 0) line.set("left_out", left_out);
  set_metrics(line, "metrics.test", quality);
  set_confusion(line, quality, model.target.classes);
  line.print();
}

void print_summary(const TrainedModel& model, const Checkpoint& checkpoint) {
  print("{} ({} weights), loss {}, {}\n", model.model->spec(), with_commas(model.model->parameters().size()),
        model.loss, checkpoint.text("run.status"));
  const std::string batch = batch_in(checkpoint);
  print("rule {}, transform {}{}, schedule {}, {} steps\n", checkpoint.text("rule"), checkpoint.text("transform"),
        batch.empty() ? "" : ", batch " + batch, checkpoint.text("schedule"), with_commas(checkpoint.number("steps")));
  print("target {}: {}\n", for_terminal(model.target.name), describe(model.target));
}

JsonLine summary_line(const TrainedModel& model, const Checkpoint& checkpoint) {
  JsonLine line("model");
  line.set("kind", checkpoint.text("kind"))
      .set("model", model.model->spec())
      .set("weights", std::uint64_t{model.model->parameters().size()})
      .set("loss", model.loss)
      .set("target", model.target.name)
      .set("rule", checkpoint.text("rule"))
      .set("transform", checkpoint.text("transform"))
      .set("schedule", checkpoint.text("schedule"))
      .set("steps", checkpoint.number("steps"))
      .set("status", checkpoint.text("run.status"));
  if (const std::string batch = batch_in(checkpoint); !batch.empty()) line.set("batch", batch);
  return line;
}

void refuse_table_options(const UseOptions& options, const std::string& samples) {
  std::vector<std::string> found;
  if (!options.data.format.empty()) found.emplace_back("--format");
  if (!options.data.delimiter.empty()) found.emplace_back("--delimiter");
  if (!options.data.header.empty()) found.emplace_back("--header");
  if (!options.data.decimal.empty()) found.emplace_back("--decimal");
  if (options.weight) found.emplace_back("--weight");
  if (!options.keep.empty()) found.emplace_back("--keep");
  if (options.skips_bad_rows()) found.emplace_back("--bad-rows");
  if (!found.empty()) throw InvalidArgument(fmt::format("{} cannot be given for {}", join(found, ", "), samples));
}

void check_classes(const UseOptions& options, const std::vector<std::string>& classes, const Target& target) {
  if (std::ranges::is_permutation(classes, target.classes)) return;
  const std::string known = list_classes(target.classes);
  if (classes.empty()) {
    throw FileError(fmt::format("{} has no class folders; to measure the model, put the files into {}",
                                options.data.name(), known));
  }
  throw FileError(fmt::format("{} has the class{} {}; the model knows {}", options.data.name(),
                              classes.size() == 1 ? "" : "es", list_classes(classes), known));
}

}  // namespace ignd::cli
