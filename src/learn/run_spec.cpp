#include "learn/run_spec.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "data/example_reader.hpp"
#include "data/image_cache.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/file_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;

constexpr double most_share = 0.9;
constexpr double most_epochs = 1e6;

constexpr EnumName<InputFactors> factor_names[]{
    {InputFactors::one, "one"}, {InputFactors::hundred, "hundred"}, {InputFactors::separate, "separate"}};

std::string one_of(const std::vector<std::string>& names) {
  return join(std::span(names).first(names.size() - 1), ", ") + " or " + names.back();
}

// Where a key means something, and its group in the help; studies have no group.
struct Place {
  unsigned uses = RunKey::all;
  std::string group = {};
};

RunKey make_key(const char* name, Kind kind, const Place& place, const std::string& help) {
  RunKey key;
  key.name = name;
  key.kind = kind;
  key.help = help;
  key.uses = place.uses;
  key.group = place.group;
  key.is_option = !place.group.empty();
  return key;
}

// Keys of one member of the spec each, which `member` gives for a spec, constant or not.
template <class Member>
RunKey word_key(const char* name, const Place& place, const std::string& help, Member member) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.get = [member](const RunSpec& spec) -> std::string { return member(spec); };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = value; };
  return key;
}

// Spaces and the like do not count in the specs of losses and schedules.
template <class Member>
RunKey spec_key(const char* name, const Place& place, const std::string& help, Member member) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.get = [member](const RunSpec& spec) { return tidy_spec(member(spec)); };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = tidy_spec(value); };
  return key;
}

template <class Member>
RunKey optional_key(const char* name, const Place& place, const std::string& help, Member member) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.get = [member](const RunSpec& spec) { return member(spec).value_or(""); };
  key.set = [member](RunSpec& spec, const std::string& value) {
    member(spec) = value.empty() ? std::nullopt : std::optional(value);
  };
  return key;
}

// Empty in the spec where it is left open.
template <class Member>
RunKey guessed_key(const char* name, const Place& place, const std::string& help, std::vector<std::string> choices,
                   Member member) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.choices = std::move(choices);
  if (!key.choices.empty()) key.choices.insert(key.choices.begin(), left_open);
  key.get = [member](const RunSpec& spec) { return member(spec).empty() ? left_open : member(spec); };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = value == left_open ? "" : value; };
  return key;
}

// Names of columns, separated by commas. Those with a comma are in double quotes.
std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  bool quoted = false, was_quoted = false;
  const auto end_name = [&] {
    names.emplace_back(was_quoted ? name : std::string(trim(name)));
    if (names.back().empty()) throw InvalidArgument(fmt::format("{} names a column without a name", in_quotes(text)));
    name.clear();
    was_quoted = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && text.substr(i + 1).starts_with('"'))
      ++i;
    else if (text[i] == '"' && (quoted || trim(name).empty())) {
      if (!quoted) name.clear();
      quoted = !quoted, was_quoted = true;
      continue;
    } else if (text[i] == ',' && !quoted) {
      end_name();
      continue;
    }
    name += text[i];
  }
  if (quoted) throw InvalidArgument(fmt::format("a quote in {} is not closed", in_quotes(text)));
  end_name();
  return names;
}

template <class Member>
RunKey names_key(const char* name, const Place& place, const std::string& help, Member member) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.get = [member](const RunSpec& spec) {
    std::vector<std::string> names = member(spec);
    for (std::string& one : names) {
      const bool plain = one.find_first_of(",\"") == std::string::npos && trim(one) == one;
      if (!plain) one = csv_quoted(one);
    }
    return join(names, ",");
  };
  key.set = [member](RunSpec& spec, const std::string& value) {
    member(spec) = value.empty() ? std::vector<std::string>() : parse_names(value);
  };
  return key;
}

template <class Member>
RunKey number_key(const char* name, const Place& place, const std::string& help, double high, Member member) {
  RunKey key = make_key(name, Kind::number, place, help);
  key.high = high;
  key.get = [member](const RunSpec& spec) { return format_number(member(spec)); };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = parse_number(value, "value"); };
  return key;
}

template <class Member>
RunKey count_key(const char* name, const Place& place, const std::string& help, double low, double high,
                 Member member) {
  RunKey key = make_key(name, Kind::count, place, help);
  key.low = low;
  key.high = high;
  key.get = [member](const RunSpec& spec) { return std::to_string(member(spec)); };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = parse_count(value, "value"); };
  return key;
}

struct Range {
  double low = 0, high = 0;
};

// Not set in the spec where it is to be guessed.
template <class Member>
RunKey guessed_count_key(const char* name, const Place& place, const std::string& help, Range range, Member member) {
  RunKey key = make_key(name, Kind::count, place, help);
  key.low = range.low;
  key.high = range.high;
  key.get = [member](const RunSpec& spec) { return member(spec) ? std::to_string(*member(spec)) : left_open; };
  key.set = [member](RunSpec& spec, const std::string& value) {
    member(spec) = value == left_open ? std::nullopt : std::optional(parse_count(value, "value"));
  };
  return key;
}

template <class Member>
RunKey flag_key(const char* name, const Place& place, const std::string& help, Member member) {
  RunKey key = make_key(name, Kind::flag, place, help);
  key.get = [member](const RunSpec& spec) -> std::string { return member(spec) ? "true" : "false"; };
  key.set = [member](RunSpec& spec, const std::string& value) { member(spec) = value == "true"; };
  return key;
}

// With what only the tool does.
RunKey in_tool(const std::string& help, RunKey key) {
  key.tool_help = help;
  return key;
}

// What does not change a run: how data are read, where the fingerprint of what was read tells; and what is recorded.
RunKey incidental(RunKey key) {
  key.determines = false;
  return key;
}

// A member that is one of a few values.
template <class Get, class Set>
RunKey choice_key(const char* name, const Place& place, const std::string& help, std::vector<std::string> choices,
                  Get get, Set set) {
  RunKey key = make_key(name, Kind::word, place, help);
  key.choices = std::move(choices);
  key.get = get;
  key.set = set;
  return key;
}

void add_data_keys(std::vector<RunKey>& keys) {
  using Use = RunKey::Use;
  const std::string group = "Data";
  const Place rows{Use::tables | Use::stream, group};
  const Place columns{Use::tables | Use::texts | Use::stream, group};
  const Place table{Use::tables, group};
  const Place samples{Use::tables | Use::files, group};
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(incidental(word_key(
      "data", {}, "path of the data, or the name of a data set", [](auto& spec) -> auto& { return spec.data.path; })));
  add(incidental(word_key(
      "checksum", {}, "what `sha256sum` prints for the file; other data are refused. A table of your own needs it",
      [](auto& spec) -> auto& { return spec.checksum; })));
  add(in_tool("; streams take vw, too", incidental(guessed_key(
                                            "format", columns, "csv, tsv or svmlight, if it is not recognised",
                                            format_names(), [](auto& spec) -> auto& { return spec.data.format; }))));
  add(incidental(guessed_key(
      "delimiter", columns, "Between fields, if it is not recognised: one character, or tab", {},
      [](auto& spec) -> auto& { return spec.data.delimiter; })));
  add(incidental(guessed_key(
      "header", columns, "Whether the first row holds names, if it is not recognised", {"yes", "no"},
      [](auto& spec) -> auto& { return spec.data.header; })));
  add(incidental(guessed_key(
      "decimal", rows, "Decimal mark, if it is not recognised: point or comma", {"point", "comma"},
      [](auto& spec) -> auto& { return spec.data.decimal; })));
  add(in_tool(", and so has vw", word_key(
                                     "target", columns, "Column to predict; svmlight has a label instead",
                                     [](auto& spec) -> auto& { return spec.dataset.target; })));
  add(optional_key(
      "weight", rows, "Column of importance weights", [](auto& spec) -> auto& { return spec.dataset.weight; }));
  add(number_key(
      "validation", samples, "Share of the samples for validation, which chooses the iterate", most_share,
      [](auto& spec) -> auto& { return spec.dataset.validation; }));
  add(number_key(
      "test", samples, "Share of the samples for the final test", most_share,
      [](auto& spec) -> auto& { return spec.dataset.test; }));
  add(in_tool("; a stream that stops saves the model so far",
              choice_key(
                  "bad-rows", rows, "Rows without a usable target or weight: stop at the first, or skip and count them",
                  {"stop", "skip"}, [](const RunSpec& spec) { return spec.dataset.skip_bad_rows ? "skip" : "stop"; },
                  [](RunSpec& spec, const std::string& value) { spec.dataset.skip_bad_rows = value == "skip"; })));
  add(optional_key(
      "split-by", table, "Column of groups: rows with equal values stay in the same part",
      [](auto& spec) -> auto& { return spec.dataset.split_by; }));
  add(optional_key(
      "split-time", table, "Column of times: train on the past, test on the future",
      [](auto& spec) -> auto& { return spec.dataset.split_time; }));
  add(choice_key(
      "split", samples, "Of classes: stratified gives each part its share of each class, random does not",
      {"stratified", "random"}, [](const RunSpec& spec) { return spec.dataset.stratified ? "stratified" : "random"; },
      [](RunSpec& spec, const std::string& value) { spec.dataset.stratified = value == "stratified"; }));
  add(names_key(
      "features", table, "Columns to learn from, separated by commas; all but the target if not given",
      [](auto& spec) -> auto& { return spec.dataset.features; }));
  add(names_key(
      "drop", table, "Columns not to learn from, separated by commas",
      [](auto& spec) -> auto& { return spec.dataset.drop; }));
  add(flag_key(
      "use-ids", table, "Learn also from columns where nearly every row has its own text",
      [](auto& spec) -> auto& { return spec.dataset.use_ids; }));
  add(choice_key(
      "scaling", table, "Of numbers: robust to a few far-off values, or by the mean and standard deviation of all",
      {"robust", "standard"},
      [](const RunSpec& spec) { return spec.dataset.scaling == NumberScaling::standard ? "standard" : "robust"; },
      [](RunSpec& spec, const std::string& value) {
        spec.dataset.scaling = value == "standard" ? NumberScaling::standard : NumberScaling::robust;
      }));
  add(guessed_count_key(
      "pieces", table,
      "Piecewise-linear features of each column of numbers, at most: 0, of an ensemble 32, if not given", {0, 1000},
      [](auto& spec) -> auto& { return spec.dataset.pieces; }));
  add(guessed_count_key(
      "levels", table,
      "Texts of a column that get a feature each, at most: 64, of an ensemble 256, if not given; a column with more "
      "hashes them",
      {1, 1e4}, [](auto& spec) -> auto& { return spec.dataset.levels; }));
}

void add_model_keys(std::vector<RunKey>& keys) {
  using Use = RunKey::Use;
  const std::string group = "Model";
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(guessed_key(
      "model", {Use::all, group},
      "linear, mlp: and widths, cnn:, lstm:, network: and layers, or a .toml file; if not given an ensemble, of one "
      "network mlp:32,64,32, for images cnn:32,64,128/128,64, for texts lstm:128x128; in studies also best-constant "
      "and best-linear, "
      "which take no steps",
      {}, [](auto& spec) -> auto& { return spec.model; }));
  RunKey ensemble = guessed_count_key(
      "ensemble", {Use::tables, group},
      "Networks that are trained together and whose predictions are blended: 8 if no other option of the model or of "
      "training is given, otherwise 1, if not given",
      {1, 1000}, [](auto& spec) -> auto& { return spec.ensemble; });
  RunKey fast = flag_key(
      "fast", {Use::tables, group}, "Train a single small network", [](auto& spec) -> auto& { return spec.fast; });
  for (RunKey* key : {&ensemble, &fast}) {  // which runs there are, and not what one of them is like
    key->is_setting = false;
    add(incidental(std::move(*key)));
  }
  add(spec_key(
      "loss", {Use::all, group}, one_of(vector_loss_names()) + "; by the target if not given",
      [](auto& spec) -> auto& { return spec.dataset.loss; }));
  add(choice_key(
      "class-weight", {Use::tables, group}, "balanced: all classes weigh the same", {"", "balanced"},
      [](const RunSpec& spec) { return spec.dataset.balanced ? "balanced" : ""; },
      [](RunSpec& spec, const std::string& value) { spec.dataset.balanced = value == "balanced"; }));
  add(word_key(
      "positive", {Use::tables | Use::files, group},
      "Positive class of two, for probabilities, precision and recall; the larger one if not given",
      [](auto& spec) -> auto& { return spec.dataset.positive; }));
}

void add_training_keys(std::vector<RunKey>& keys) {
  using Use = RunKey::Use;
  const std::string group = "Training";
  const Place samples{Use::tables | Use::files, group};
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(spec_key(
      "schedule", {Use::all, group}, "cosine, constant or robbins-monro, with options; cosine if not given",
      [](auto& spec) -> auto& { return spec.training.schedule; }));
  add(guessed_count_key(
      "epochs", samples,
      "Passes over the training samples: of a network 20, of an ensemble up to 60, for images and texts 5, if not "
      "given",
      {0, most_epochs}, [](auto& spec) -> auto& { return spec.epochs; }));
  add(guessed_count_key(
      "patience", samples,
      "Epochs without a better validation loss before it stops: 10, in an ensemble at least half of all, if not given",
      {1, most_epochs}, [](auto& spec) -> auto& { return spec.patience; }));
  add(flag_key(
      "last", samples, "Keep the last iterate, not the best",
      [](auto& spec) -> auto& { return spec.training.keep_last; }));
  add(number_key(
      "l2", {Use::all, group}, "Weight of the squared norm in the loss", 1e12,
      [](auto& spec) -> auto& { return spec.training.l2; }));
}

// Those of a single run: in studies, methods have them.
void add_method_keys(std::vector<RunKey>& keys) {
  const Place place{RunKey::all, "Training"};
  const auto add = [&](RunKey key) {
    key.is_setting = false;
    keys.push_back(std::move(key));
  };
  add(spec_key(
      "optimizer", place, one_of(optimizer_names()) + " (default: adam; ignd for a stream and for exact steps)",
      [](auto& spec) -> auto& { return spec.method.optimizer; }));
  add(spec_key(
      "rule", place, "Step rule, instead of --optimizer", [](auto& spec) -> auto& { return spec.method.rule; }));
  add(spec_key(
      "transform", place, "Transform, instead of --optimizer",
      [](auto& spec) -> auto& { return spec.method.transform; }));
  add(word_key(
      "lr", place, "Learning rate, or auto, the default: a search among a few",
      [](auto& spec) -> auto& { return spec.method.rate; }));
  RunKey seed = count_key(
      "seed", {RunKey::tables | RunKey::files, "Training"}, "Seed of the split, the initial weights and the order", 0,
      any_count, [](auto& spec) -> auto& { return spec.training.seed; });
  seed.set = [](RunSpec& spec, const std::string& value) {
    spec.training.seed = spec.dataset.seed = parse_count(value, "value");
  };
  add(std::move(seed));
  // A resumed run has weights of its own, and its inputs must be those of the file in any case.
  add(incidental(word_key(
      "start-from", {RunKey::tables, "Training"}, "Model file of a single network to train further on these rows",
      [](auto& spec) -> auto& { return spec.start_from; })));
}

void add_batch_keys(std::vector<RunKey>& keys) {
  const Place place{RunKey::tables | RunKey::files, "Mini-batches"};
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(count_key(
      "batch", place, "Samples per step; 0: one at a time", 0, 1e6,
      [](auto& spec) -> auto& { return spec.batch.size; }));
  add(choice_key(
      "batch-mode", place, "average: of the samples' own steps; exact: the damped Gauss-Newton step of the batch",
      {"average", "exact"}, [](const RunSpec& spec) { return to_string(spec.batch.mode); },
      [](RunSpec& spec, const std::string& value) { spec.batch.mode = find_batch_mode(value); }));
  add(number_key(
      "lambda", place, "Damping of exact steps", 1e12, [](auto& spec) -> auto& { return spec.batch.lambda; }));
  add(flag_key(
      "adaptive-lambda", place, "Adapt lambda to the ratio of actual to predicted decrease",
      [](auto& spec) -> auto& { return spec.batch.adaptive; }));
  RunKey memory = count_key(
      "memory", place, "Memory limit of exact steps, in megabytes", 1, 1e6,
      [](auto& spec) -> auto& { return spec.batch.memory; });
  constexpr std::uint64_t megabyte = 1'000'000;
  memory.get = [](const RunSpec& spec) { return std::to_string(spec.batch.memory / megabyte); };
  memory.set = [](RunSpec& spec, const std::string& value) {
    spec.batch.memory = parse_count(value, "value") * megabyte;
  };
  add(incidental(std::move(memory)));
}

void add_file_keys(std::vector<RunKey>& keys) {
  const std::string group = "Images and texts";
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(word_key(
      "text", {RunKey::texts, group}, "Column of texts to predict from, instead of all other columns",
      [](auto& spec) -> auto& { return spec.dataset.text; }));
  add(count_key(
      "size", {RunKey::images, group}, "Height and width in pixels that images are resized to", 1,
      static_cast<double>(largest_image_side), [](auto& spec) -> auto& { return spec.dataset.size; }));
  add(count_key(
      "length", {RunKey::texts, group}, "Tokens read of each text: the last ones", 1, static_cast<double>(longest_text),
      [](auto& spec) -> auto& { return spec.dataset.length; }));
}

void add_study_keys(std::vector<RunKey>& keys) {
  const Place table{RunKey::tables, {}};
  const Place samples{RunKey::tables | RunKey::files, {}};
  constexpr double most_samples = 1e9;
  const auto add = [&](RunKey key) { keys.push_back(std::move(key)); };
  add(flag_key(
      "scale-target", table, "learn numbers as deviations from their mean, not in their units",
      [](auto& spec) -> auto& { return spec.dataset.scale_target; }));
  RunKey target_factor = number_key(
      "target-factor", table, "what numbers are multiplied by before they are learned", 1e12,
      [](auto& spec) -> auto& { return spec.dataset.target_factor; });
  target_factor.low = 1e-12;
  add(std::move(target_factor));
  add(flag_key(
      "above-median", table, "learn whether a number is above the median of its column, as two classes",
      [](auto& spec) -> auto& { return spec.dataset.above_median; }));
  add(choice_key(
      "input-factors", table, "what encoded inputs are multiplied by: 1, 100, or each its own 10^U(-2,2)",
      {"one", "hundred", "separate"}, [](const RunSpec& spec) { return name_in(factor_names, spec.dataset.factors); },
      [](RunSpec& spec, const std::string& value) { spec.dataset.factors = value_in(factor_names, value).value(); }));
  add(number_key(
      "initial-factor", table, "what the initial weights are multiplied by", 1e12,
      [](auto& spec) -> auto& { return spec.training.initial_factor; }));
  add(count_key(
      "training-samples", samples, "limit on the number of training samples; 0: no limit", 0, most_samples,
      [](auto& spec) -> auto& { return spec.dataset.most_training; }));
  add(count_key(
      "validation-samples", samples, "limit on the number of validation samples; 0: no limit", 0, most_samples,
      [](auto& spec) -> auto& { return spec.dataset.most_validation; }));
  add(count_key(
      "test-samples", samples, "limit on the number of test samples; 0: no limit", 0, most_samples,
      [](auto& spec) -> auto& { return spec.dataset.most_test; }));
  add(incidental(choice_key(
      "score", samples,
      "what runs are compared by; auto: what the loss measures, squared errors as their root in the target's units",
      score_names(), [](const RunSpec& spec) { return score_names()[static_cast<std::size_t>(spec.record.score)]; },
      [](RunSpec& spec, const std::string& value) {
        spec.record.score = static_cast<ScoreKind>(std::ranges::find(score_names(), value) - score_names().begin());
      })));
  add(incidental(choice_key(
      "measured-on", samples,
      "the part of the score; validation where set-ups are chosen, so that no test sample is looked at",
      {"test", "validation"}, [](const RunSpec& spec) { return spec.record.on_validation ? "validation" : "test"; },
      [](RunSpec& spec, const std::string& value) { spec.record.on_validation = value == "validation"; })));
  add(incidental(count_key(
      "points", samples, "points of the curves for each epoch", 1, 1000,
      [](auto& spec) -> auto& { return spec.record.points; })));
  add(incidental(flag_key(
      "timed", samples, "time the learning: the column `seconds`, which no two runs have alike",
      [](auto& spec) -> auto& { return spec.record.timed; })));
  add(incidental(flag_key(
      "steps", samples, "record what the steps were like, for a figure of steps; not with batches",
      [](auto& spec) -> auto& { return spec.record.steps; })));
}

std::vector<RunKey> make_keys() {
  std::vector<RunKey> keys;
  add_data_keys(keys);
  add_model_keys(keys);
  add_training_keys(keys);
  add_method_keys(keys);
  add_batch_keys(keys);
  add_file_keys(keys);
  add_study_keys(keys);
  const RunSpec defaults;
  for (RunKey& key : keys) key.default_value = key.get(defaults);
  return keys;
}

}  // namespace

const std::vector<RunKey>& run_keys() {
  static const std::vector<RunKey> keys = make_keys();
  return keys;
}

std::vector<SettingKey> run_setting_keys() {
  std::vector<SettingKey> keys;
  std::ranges::copy_if(run_keys(), std::back_inserter(keys), &RunKey::is_setting);
  return keys;
}

void RunSpec::complete(DataKind kind) {
  constexpr std::uint64_t table_epochs = 20;
  constexpr std::uint64_t file_epochs = 5;
  const char* usual = kind == DataKind::table    ? "mlp:32,64,32"
                      : kind == DataKind::images ? "cnn:32,64,128/128,64"
                                                 : "lstm:128x128";
  training.model = model.empty() ? usual : model;
  training.epochs = epochs.value_or(kind == DataKind::table ? table_epochs : file_epochs);
  training.patience = patience.value_or(TrainingOptions().patience);
  if (batch.size > 0 || batch.mode == BatchMode::exact) training.batch = batch;
}

bool RunSpec::is_baseline() const { return model == best_constant_model || model == best_linear_model; }

Optimizer optimizer_of(const MethodWords& words, const Optimizer& otherwise) {
  const bool is_pair = !words.rule.empty() || !words.transform.empty();
  if (words.optimizer.empty() && !is_pair) return otherwise;
  if (!words.optimizer.empty() && is_pair) {
    throw InvalidArgument("give an optimizer, or a rule and a transform, not both");
  }
  const auto [rule, transform] = find_optimizer(words.optimizer.empty() ? "ignd" : words.optimizer);
  return make_optimizer(words.rule.empty() ? rule : words.rule, words.transform.empty() ? transform : words.transform);
}

Optimizer optimizer_of(const MethodWords& words, const BatchOptions& batch) {
  return optimizer_of(words, find_optimizer(batch.mode == BatchMode::exact ? "ignd" : "adam"));
}

std::optional<double> rate_of(const MethodWords& words) {
  if (words.rate == left_open) return std::nullopt;
  const double rate = parse_number(words.rate, "the learning rate");
  if (rate > 0 && std::isfinite(rate)) return rate;
  throw InvalidArgument(
      fmt::format("the learning rate is {}, but must be auto or a finite number above 0", printable(words.rate)));
}

Settings settings_of(const RunSpec& spec) {
  std::map<std::string, std::string> values;
  for (const RunKey& key : run_keys()) {
    if (key.is_setting) values[key.name] = key.get(spec);
  }
  return Settings(std::move(values));
}

RunSpec spec_of(const Settings& settings) {
  RunSpec spec;
  for (const RunKey& key : run_keys()) {
    if (!key.is_setting) continue;
    const std::string& value = settings.word(key.name);
    if (value != key.default_value) key.set(spec, value);
  }
  return spec;
}

Settings determining_keys(const RunSpec& spec) {
  std::map<std::string, std::string> values;
  for (const RunKey& key : run_keys()) {
    if (key.determines) values[key.name] = key.get(spec);
  }
  return Settings(std::move(values));
}

std::vector<std::string> differences(const Settings& before, const Settings& now,
                                     const std::function<bool(const RunKey& key)>& counts) {
  std::vector<std::string> found;
  for (const RunKey& key : run_keys()) {
    if (!key.determines || (counts && !counts(key))) continue;
    const auto saved = before.values().find(key.name);
    const std::string& was = saved == before.values().end() ? key.default_value : saved->second;
    const std::string& is = now.word(key.name);
    if (was != is) found.push_back(fmt::format("its {} is {}, not {}", key.name, in_quotes(was), in_quotes(is)));
  }
  return found;
}

}  // namespace ignd
