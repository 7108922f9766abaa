#include "lab/table_study.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "learn/table_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;

constexpr const char* guessed = "auto";

std::string or_guessed(const std::string& text) { return text.empty() ? guessed : text; }

std::string unless_guessed(const std::string& word) { return word == guessed ? "" : word; }

std::optional<std::string> if_given(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(word);
}

std::string flag_text(bool flag) { return flag ? "true" : "false"; }

bool is_checksum(const std::string& text) {
  constexpr std::size_t digits = 64;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

bool is_baseline(const std::string& model) { return model == best_constant_model || model == best_linear_model; }

const std::vector<SettingKey>& table_study_keys() {
  static const RunOptions run;
  static const DatasetOptions task;
  static const std::vector<SettingKey> keys{
      {"data", Kind::word, "", 0, 0, {}, "path of the file, or the name of a data set that is one table"},
      {"checksum", Kind::word, "", 0, 0, {}, "must be given: what `sha256sum` prints for it; other data are refused"},
      {"format", Kind::word, guessed, 0, 0, {guessed, "csv", "tsv", "svmlight"}, "of the file"},
      {"delimiter", Kind::word, guessed, 0, 0, {}, "between fields: auto, one character, or tab"},
      {"header", Kind::word, guessed, 0, 0, {guessed, "yes", "no"}, "whether the first row holds names"},
      {"decimal", Kind::word, guessed, 0, 0, {guessed, "point", "comma"}, "the decimal mark"},
      {"target", Kind::word, "", 0, 0, {}, "column to predict"},
      {"weight", Kind::word, "", 0, 0, {}, "column of importance weights"},
      {"bad-rows",
       Kind::word,
       "stop",
       0,
       0,
       {"stop", "skip"},
       "skip: leave out rows without a usable target or weight"},
      {"validation", Kind::number, format_number(task.validation), 0, 0.9, {}, "share of the rows to choose by"},
      {"test", Kind::number, format_number(task.test), 0, 0.9, {}, "share of the rows that the score is of"},
      {"split-by", Kind::word, "", 0, 0, {}, "column whose equal values stay in one part"},
      {"split-time", Kind::word, "", 0, 0, {}, "column of times: train on the past, test on the future"},
      {"use-ids", Kind::flag, "false", 0, 0, {}, "learn also from columns where nearly every row has its own text"},
      {"model",
       Kind::word,
       run.model,
       0,
       0,
       {},
       "linear, or mlp: and widths; or best-constant or best-linear, which know no rate and no epochs"},
      {"loss", Kind::word, "", 0, 0, {}, "squared, logistic, ...; by the target where none is given"},
      {"balanced", Kind::flag, "false", 0, 0, {}, "all classes weigh the same"},
      {"schedule", Kind::word, run.schedule, 0, 0, {}, "of the learning rate"},
      {"epochs", Kind::count, std::to_string(run.epochs), 1, 1e6, {}, "passes over the training rows"},
      {"patience", Kind::count, std::to_string(run.patience), 1, 1e6, {}, "epochs without a better validation loss"},
      {"last", Kind::flag, "false", 0, 0, {}, "keep the last iterate, not the best"},
      {"l2", Kind::number, format_number(run.l2), 0, 1e12, {}, "weight of the squared norm in the loss"},
      {"batch", Kind::count, "0", 0, 1e6, {}, "rows that are learned together; 0: one at a time"},
      {"batch-mode", Kind::word, "average", 0, 0, {"average", "exact"}, "how a batch steps (docs/minibatch.md)"},
      {"lambda", Kind::number, "1", 0, 1e12, {}, "damping of exact steps"},
  };
  return keys;
}

TableStudy study_of(const Settings& settings) {
  TableStudy study;
  study.data = {.path = settings.word("data"),
                .format = unless_guessed(settings.word("format")),
                .delimiter = unless_guessed(settings.word("delimiter")),
                .header = unless_guessed(settings.word("header")),
                .decimal = unless_guessed(settings.word("decimal"))};
  study.checksum = settings.word("checksum");
  study.task = {.target = settings.word("target"),
                .loss = tidy_spec(settings.word("loss")),
                .weight = if_given(settings.word("weight")),
                .balanced = settings.flag("balanced"),
                .split_by = if_given(settings.word("split-by")),
                .split_time = if_given(settings.word("split-time")),
                .validation = settings.number("validation"),
                .test = settings.number("test"),
                .use_ids = settings.flag("use-ids"),
                .skip_bad_rows = settings.word("bad-rows") == "skip"};
  study.run.model = settings.word("model");
  study.run.schedule = settings.word("schedule");
  study.run.epochs = settings.count("epochs");
  study.run.patience = settings.count("patience");
  study.run.keep_last = settings.flag("last");
  study.run.l2 = settings.number("l2");
  const BatchMode mode = find_batch_mode(settings.word("batch-mode"));
  if (settings.count("batch") > 0 || mode == BatchMode::exact) {
    study.run.batch = {.size = settings.count("batch"), .mode = mode, .lambda = settings.number("lambda")};
  }
  return study;
}

Settings settings_of(const TableStudy& study) {
  const BatchOptions batch = study.run.batch.value_or(BatchOptions{.size = 0});
  return Settings({{"data", study.data.path},
                   {"checksum", study.checksum},
                   {"format", or_guessed(study.data.format)},
                   {"delimiter", or_guessed(study.data.delimiter)},
                   {"header", or_guessed(study.data.header)},
                   {"decimal", or_guessed(study.data.decimal)},
                   {"target", study.task.target},
                   {"weight", study.task.weight.value_or("")},
                   {"bad-rows", study.task.skip_bad_rows ? "skip" : "stop"},
                   {"validation", format_number(study.task.validation)},
                   {"test", format_number(study.task.test)},
                   {"split-by", study.task.split_by.value_or("")},
                   {"split-time", study.task.split_time.value_or("")},
                   {"use-ids", flag_text(study.task.use_ids)},
                   {"model", study.run.model},
                   {"loss", tidy_spec(study.task.loss)},
                   {"balanced", flag_text(study.task.balanced)},
                   {"schedule", study.run.schedule},
                   {"epochs", std::to_string(study.run.epochs)},
                   {"patience", std::to_string(study.run.patience)},
                   {"last", flag_text(study.run.keep_last)},
                   {"l2", format_number(study.run.l2)},
                   {"batch", std::to_string(batch.size)},
                   {"batch-mode", to_string(batch.mode)},
                   {"lambda", format_number(batch.lambda)}});
}

std::vector<std::string> study_faults(const TableStudy& study) {
  std::vector<std::string> faults;
  const auto try_out = [&](const std::function<void()>& use) {
    try {
      use();
    } catch (const InvalidArgument& fault) {
      faults.emplace_back(fault.what());
    }
  };
  if (study.data.path.empty()) faults.emplace_back("there is no path of a file");
  if (!is_checksum(study.checksum)) {
    faults.emplace_back(study.checksum.empty() ? "there is no checksum; give what `sha256sum` prints for the file"
                                               : "the checksum is not what `sha256sum` prints for a file");
  }
  if (study.task.target.empty()) faults.emplace_back("there is no column to predict");
  if (!(study.task.validation > 0)) faults.emplace_back("there are no validation rows to choose the rate by");
  if (!(study.task.test > 0)) faults.emplace_back("there are no test rows to measure on");
  if (study.run.batch && study.run.batch->size == 0) {
    faults.emplace_back("exact steps need a batch of one row at least");
  }
  if (study.run.epochs == 0) faults.emplace_back("there are no epochs to train for");
  if (!(study.run.l2 >= 0) || !std::isfinite(study.run.l2)) {
    faults.push_back(fmt::format("l2 is {}, but must be a finite number of at least 0", study.run.l2));
  }
  try_out([&] { study.data.dialect(); });
  try_out([&] { run_schedule(study.run.schedule, 1, 1); });
  if (!is_baseline(study.run.model)) try_out([&] { model_spec(study.run.model, 1); });
  if (!study.task.loss.empty()) try_out([&] { check_loss(study.task.loss); });
  return faults;
}

}  // namespace ignd
