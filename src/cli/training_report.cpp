#include "cli/training_report.hpp"

#include "base/atomic_file.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/save_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/explanation.hpp"
#include "learn/model_outputs.hpp"
#include "learn/recorded_run.hpp"
#include "learn/trained_model.hpp"
#include "report/model_page.hpp"
#include "report/page_elements.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_measured = 20'000;  // samples whose errors are looked at
constexpr std::size_t most_residuals = 1000;     // that are drawn
constexpr std::size_t most_worst = 20;

ModelReport::Curve curve_of(const std::string& name, const std::vector<EpochReport>& epochs) {
  ModelReport::Curve curve{.name = name, .epochs = {}, .training = {}, .validation = {}};
  for (const EpochReport& epoch : epochs) {
    curve.epochs.push_back(static_cast<double>(epoch.epoch));
    curve.training.push_back(epoch.training_loss);
    if (epoch.validation.is_measured()) curve.validation.push_back(epoch.validation.loss);
  }
  return curve;
}

void add_curves(ModelReport& report, const WatchedRun& run) {
  if (!run.epochs.empty()) report.curves.push_back(curve_of("the model", run.epochs));
  std::vector<MemberReport> members = run.members;
  std::erase_if(members, [](const MemberReport& member) { return member.linear; });
  std::ranges::sort(members, {}, &MemberReport::number);
  for (const MemberReport& member : members) {
    report.curves.push_back(curve_of(fmt::format("network {}", member.number), member.curve));
  }
  const auto is_whole = [](const ModelReport::Curve& curve) { return !curve.epochs.empty() && curve.epochs[0] == 1; };
  if (run.resumed && (report.curves.empty() || !std::ranges::all_of(report.curves, is_whole))) {
    report.warnings.emplace_back("The run was resumed: its learning curves lack the epochs before.");
  }
}

void add_scores(ModelReport& report, const WatchedRun& run) {
  if (run.judged.empty() || run.judged[0].on.empty()) return;
  for (const auto& [name, value] : score_values(run.judged[0].on.back())) report.score_names.push_back(name);
  for (std::size_t part = run.parts.size(); part-- > 0;) {  // the test rows first
    for (const Evaluated& predictor : run.judged) {
      ModelReport::ScoreRow row{.part = run.parts[part], .predictor = predictor.name, .scores = {}};
      for (const auto& [name, value] : score_values(predictor.on[part])) row.scores.push_back(value);
      row.scores.resize(report.score_names.size());  // nothing was measured where a prediction was not finite
      report.scores.push_back(std::move(row));
    }
  }
}

// "On the test rows: RMSE 3102; best constant 6.277e+04; least squares 7506."
std::string summary_of(const Dataset& dataset, const WatchedRun& run, const std::string& samples) {
  if (run.parts.empty()) return "";
  std::string text =
      fmt::format("On the {} {}: {}", run.parts.back(), samples, score_label(dataset, ScoreKind::automatic));
  for (const Evaluated& predictor : run.judged) {
    const auto score = score_of(dataset, predictor.on.back(), ScoreKind::automatic);
    text += fmt::format("{} {}", &predictor == run.judged.data() ? "" : "; " + predictor.name, in_short(score));
  }
  return text + ".";
}

// What the model says of the measured samples, and how wrong it is.
class Errors {
 public:
  Errors(ModelReport& report, const TrainingData& data, const Model<float>& model, std::vector<std::uint32_t> rows)
      : report_(report), data_(data), dataset_(data.dataset()), target_(dataset_.target()), rows_(std::move(rows)) {
    outputs_ = outputs_on(dataset_, rows_, model);
    if (target_.is_class()) {
      add_classes();
    } else {
      add_residuals();
    }
  }

 private:
  // The largest errors first; rows without a weight do not count.
  std::vector<std::size_t> worst_of(const std::vector<double>& errors) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (dataset_.row_weight(rows_[i]) > 0 && std::isfinite(errors[i])) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return std::abs(errors[i]); });
    order.resize(std::min(order.size(), most_worst));
    return order;
  }

  void add_residuals() {
    std::vector<double> residuals, predictions;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      predictions.push_back(target_.in_units(outputs_[i]));
      residuals.push_back(dataset_.target_in_units(rows_[i]) - predictions[i]);
    }
    std::vector<std::uint32_t> drawn(rows_.size());
    for (std::uint32_t i = 0; i < drawn.size(); ++i) drawn[i] = i;
    keep_some(drawn, most_residuals, dataset_.options().seed, "residuals to draw");
    for (const std::uint32_t i : drawn) report_.residuals.push_back({predictions[i], residuals[i]});
    report_.left_out_residuals = rows_.size() - drawn.size();
    report_.error_name = "target - prediction";
    for (const std::size_t i : worst_of(residuals)) {
      report_.worst.push_back({data_.name_of(rows_[i]), in_short(dataset_.target_in_units(rows_[i]), 6),
                               in_short(predictions[i], 6), residuals[i]});
    }
  }

  void add_classes() {
    const std::size_t count = target_.classes.size();
    report_.classes = target_.classes;
    report_.confusion.assign(count * count, 0);
    std::vector<double> errors, probability, hit, weight;
    std::vector<Prediction> made(rows_.size());
    const std::size_t width = target_.outputs();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      interpret(target_, std::span(outputs_).subspan(i * width, width), made[i]);
      const auto truth = static_cast<std::size_t>(dataset_.target_in_units(rows_[i]));
      const auto predicted = static_cast<std::size_t>(made[i].value);
      weight.push_back(dataset_.row_weight(rows_[i]));
      report_.confusion[truth * count + predicted] += weight.back();
      errors.push_back(-std::log(made[i].probabilities[truth]));
      // Of two classes the positive one; of more, the one that was predicted.
      const std::size_t of = count == 2 ? 1 : predicted;
      probability.push_back(made[i].probabilities[of]);
      hit.push_back(truth == of ? 1 : 0);
    }
    report_.reliability = reliability_of(probability, hit, weight);
    report_.calibration_error = calibration_error(report_.reliability);
    report_.reliable_of = count == 2 ? "the probability of " + target_.classes[1] : "that of the predicted class";
    report_.error_name = "log loss";
    for (const std::size_t i : worst_of(errors)) {
      const auto truth = static_cast<std::size_t>(dataset_.target_in_units(rows_[i]));
      const double sure = made[i].probabilities[static_cast<std::size_t>(made[i].value)];
      report_.worst.push_back({data_.name_of(rows_[i]), target_.classes[truth],
                               fmt::format("{} ({})", made[i].label, in_short(sure)), errors[i]});
    }
  }

  ModelReport& report_;
  const TrainingData& data_;
  const Dataset& dataset_;
  const Target& target_;
  std::vector<std::uint32_t> rows_;
  std::vector<double> outputs_;
};

void add_explanation(ModelReport& report, const Dataset& dataset, std::span<const std::uint32_t> rows,
                     const Model<float>& model, const std::atomic<bool>& stop, bool shows_progress) {
  const auto* table = dynamic_cast<const TableDataset*>(&dataset);
  if (table == nullptr) return;
  std::optional<Progress> progress;
  const ExplainControl control{.progress =
                                   [&](std::size_t done, std::size_t total) {
                                     if (!progress)
                                       progress.emplace("explaining", total, "predictions", !shows_progress);
                                     progress->update(done);
                                   },
                               .stop = &stop};
  report.explanation =
      explain_columns(*table, rows, model, {.seed = dataset.options().seed, .rows = 2000, .averaged = 500}, control);
}

}  // namespace

std::string model_page_path(const std::string& model) {
  const fs::path path(model);
  return path.extension() == ".ignd" ? fs::path(path).replace_extension(".html").string() : model + ".html";
}

void check_report(const std::string& path, const DataFile& data) {
  check_can_save(path, data);
  std::error_code ignored;
  if (!fs::exists(path, ignored) || fs::is_empty(path, ignored)) return;
  std::string beginning(500, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  if (beginning.find(page_mark) != std::string::npos) return;
  throw FileError(
      fmt::format("cannot save {}: a file is there that is not a report of ignd; give another name with --save",
                  quoted_path(path)));
}

std::string write_training_report(const std::string& path, const TrainingData& data, const Checkpoint& model,
                                  const WatchedRun& run, const std::atomic<bool>& stop, bool shows_progress) {
  const Dataset& dataset = data.dataset();
  const auto trained = TrainedModel::load(model);
  const Model<float>& network = dynamic_cast<const RunModel&>(*trained).model();
  const ModelDescription about = trained->describe(model);
  ModelReport report;
  report.target = dataset.target().name;
  report.data = about.made ? about.made->data : "";
  report.samples = data.samples();
  report.summary = summary_of(dataset, run, report.samples);
  report.columns = data.columns();
  report.card = card_of(trained->target_name(), about);
  add_curves(report, run);
  add_scores(report, run);
  if (!run.parts.empty()) {
    report.part = run.parts.back();
    auto rows = report.part == "test" ? dataset.split().test : dataset.split().validation;
    if (report.part != "test") {
      report.part_note = run.members.empty() ? "The epoch that is kept was chosen by the validation rows."
                                             : "The networks of the ensemble have learned from most validation rows.";
    }
    const std::size_t all = rows.size();
    keep_some(rows, most_measured, dataset.options().seed, "errors to look at");
    if (rows.size() < all) {
      report.part_note += fmt::format("{}Errors are those of {} of {} {}.", report.part_note.empty() ? "" : " ",
                                      with_commas(rows.size()), with_commas(all), report.samples);
    }
    if (stop) throw Stopped();
    const Errors errors(report, data, network, rows);
    add_explanation(report, dataset, rows, network, stop, shows_progress);
  }
  if (stop) throw Stopped();
  const WrittenPage page = model_page(report);
  write_file_atomically(path, page.html);
  return page.fault;
}

}  // namespace ignd::cli
