#include "learn/run_checks.hpp"

#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/image.hpp"
#include "data/network_file.hpp"
#include "data/tokenizer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/network.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/ensemble.hpp"
#include "learn/table_model.hpp"
#include "models/model_specs.hpp"

#include <functional>

#include <fmt/format.h>

namespace ignd {
namespace {

struct KindInfo {
  RunKey::Use use;
  const char* samples;
};

KindInfo info_of(DataKind kind) {
  if (kind == DataKind::table) return {RunKey::tables, "tables"};
  return kind == DataKind::images ? KindInfo{RunKey::images, "images"} : KindInfo{RunKey::texts, "texts"};
}

void check_model(const RunSpec& spec, DataKind kind) {
  const std::string& model = spec.training.model;
  if (kind == DataKind::table) {
    model_spec(model, 1);
  } else {
    check_network(named_network(model, sample_shape(spec, kind)));
  }
}

void check_table(const RunSpec& spec, const GivenKeys& given) {
  if (given.has("split-by") || given.has("split-time")) {
    given.refuse({"split"}, "cannot be given where groups or times decide");
  }
  if (!spec.dataset.features.empty()) {
    given.refuse({"drop"}, fmt::format("cannot be given with {}, which names all inputs", given.shown("features")));
  }
  if (spec.dataset.target.empty()) spec.data.refuse_without_target();
}

void check_texts(const GivenKeys& given, const RunSpec& spec) {
  if (spec.dataset.text.empty()) {
    given.refuse({"target", "format", "delimiter", "header"},
                 "cannot be given for files of text: their folders are their classes");
    return;
  }
  if (holds_files(spec.data.path)) {
    throw InvalidArgument(
        fmt::format("{} names a column of a table, but {} holds files", given.shown("text"), spec.data.name()));
  }
  check_table(spec, given);
  if (spec.dataset.target == spec.dataset.text) {
    throw InvalidArgument(fmt::format("{} and {} name the same column", given.shown("text"), given.shown("target")));
  }
}

// Images and texts have two classes.
void check_loss(const std::string& loss, DataKind kind) {
  if (loss.empty() || make_vector_loss(loss)->link() == Link::logit || kind == DataKind::table) return;
  throw InvalidArgument(
      fmt::format("the loss {} cannot be given for {}: they have two classes, and the loss is logistic",
                  printable(loss), info_of(kind).samples));
}

void check_batch(const GivenKeys& given, const BatchOptions& batch) {
  if (batch.size == 0) {
    given.refuse({"batch-mode", "lambda", "adaptive-lambda", "memory"},
                 fmt::format("can only be given with {}{}", given.shown("batch"),
                             given.has("batch") ? " of at least one sample" : ""));
    return;
  }
  if (batch.mode == BatchMode::average) {
    given.refuse({"lambda", "adaptive-lambda"},
                 fmt::format("can only be given with {} exact", given.shown("batch-mode")));
  }
}

// Reads the model that training starts from: its network, loss, target and inputs are those of the new one.
void take_start(RunSpec& spec, const GivenKeys& given) {
  given.refuse({"model", "loss", "positive", "features", "drop", "scaling", "pieces", "levels", "use-ids"},
               fmt::format("cannot be given with {}, whose model has its own", given.shown("start-from")));
  const Checkpoint checkpoint = Checkpoint::read(spec.start_from);
  const auto refuse = [&](std::string_view why) {
    throw FileError(fmt::format("training cannot start from {}: {}", quoted_path(spec.start_from), why));
  };
  if (is_of_ensemble(checkpoint)) refuse("it is an ensemble, whose networks are not kept; --fast trains a single one");
  try {
    spec.start = std::make_shared<const TableModel>(TableModel::load(checkpoint));
  } catch (const FileError& fault) {
    refuse(fault.what());
  }
  constexpr const char* model_entry = "run.option.model";
  if (!checkpoint.has(model_entry)) refuse("it was saved without its training run");
  const std::string& target = spec.start->target_name();
  if (spec.dataset.target.empty()) spec.dataset.target = target;
  if (spec.dataset.target != target) {
    refuse(fmt::format("it predicts {}, not {}", in_quotes(target), in_quotes(spec.dataset.target)));
  }
  spec.model = checkpoint.text(model_entry);
  spec.dataset.loss = spec.start->loss();
  const auto weights = spec.start->model().parameters();
  spec.training.start = std::make_shared<const std::vector<float>>(weights.begin(), weights.end());
}

}  // namespace

std::string GivenKeys::shown(std::string_view name) const { return fmt::format("{}{}{}", open, name, close); }

void GivenKeys::refuse(const std::vector<std::string>& keys, std::string_view why) const {
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    if (has(key)) found.push_back(shown(key));
  }
  if (!found.empty()) throw InvalidArgument(fmt::format("{} {}", join(found, ", "), why));
}

void refuse_foreign_keys(const GivenKeys& given, RunKey::Use use, std::string_view why) {
  std::vector<std::string> foreign;
  for (const RunKey& key : run_keys()) {
    if ((key.uses & use) != 0) continue;
    if (use != RunKey::stream && key.uses == RunKey::images) given.refuse({key.name}, "can only be given for images");
    if (use != RunKey::stream && key.uses == RunKey::texts) given.refuse({key.name}, "can only be given for texts");
    foreign.push_back(key.name);
  }
  given.refuse(foreign, why);
}

RunSpec complete_spec(RunSpec spec, const GivenKeys& given, DataKind kind) {
  if (spec.model.ends_with(".toml")) spec.model = read_network_file(spec.model);
  if (!spec.start_from.empty()) {
    if (kind != DataKind::table) given.refuse({"start-from"}, "can only be given for tables");
    if (given.has("ensemble"))
      given.refuse({"start-from"}, "cannot be given with --ensemble: it trains a single network");
    take_start(spec, given);
  }
  choose_ensemble(spec, given, kind);
  spec.complete(kind);
  if (spec.data.path.empty() && spec.data.frame == nullptr) throw InvalidArgument("name the file to train on");
  const auto [use, samples] = info_of(kind);
  refuse_foreign_keys(given, use, fmt::format("cannot be given for {}", samples));
  if (kind == DataKind::table) check_table(spec, given);
  if (kind == DataKind::texts) check_texts(given, spec);
  check_batch(given, spec.batch);
  if (spec.is_baseline()) check_model(spec, kind);  // there is no such model outside studies
  const auto faults = spec_faults(spec, kind);
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
  spec.training.optimizer = optimizer_of(spec.method, spec.batch);
  if (const auto rate = rate_of(spec.method)) spec.training.rate = *rate;
  return spec;
}

std::vector<std::string> spec_faults(const RunSpec& spec, DataKind kind) {
  std::vector<std::string> faults;
  const auto try_out = [&](const std::function<void()>& use) {
    try {
      use();
    } catch (const InvalidArgument& fault) {
      faults.emplace_back(fault.what());
    }
  };
  try_out([&] { spec.data.dialect(); });
  try_out([&] { run_schedule(spec.training.schedule, 1, 1); });
  if (!spec.is_baseline()) try_out([&] { check_model(spec, kind); });
  try_out([&] { check_loss(spec.dataset.loss, kind); });
  return faults;
}

std::vector<std::string> study_faults(const RunSpec& spec, DataKind kind) {
  std::vector<std::string> faults = spec_faults(spec, kind);
  const TrainingOptions& training = spec.training;
  if (spec.is_ensemble() || spec.fast) faults.emplace_back("ensembles are trained by `ignd train` alone");
  if (spec.data.path.empty()) faults.emplace_back("there is no path of a file");
  if (kind == DataKind::table && spec.dataset.target.empty()) faults.emplace_back("there is no column to predict");
  if (!(spec.dataset.validation > 0)) faults.emplace_back("there are no validation rows to choose the rate by");
  if (!(spec.dataset.test > 0)) faults.emplace_back("there are no test rows to measure on");
  if (training.batch && training.batch->size == 0) {
    faults.emplace_back("exact steps, and other options of batches, need a batch of one row at least");
  }
  if (spec.record.steps && training.batch) faults.emplace_back("the steps of batches cannot be recorded");
  if (!spec.start_from.empty()) faults.emplace_back("only `ignd train` starts from a model");
  if (training.epochs == 0) faults.emplace_back("there are no epochs to train for");
  return faults;
}

Shape sample_shape(const RunSpec& spec, DataKind kind) {
  if (kind == DataKind::texts) return Shape::tokens(spec.dataset.length, cl100k_vocabulary);
  return Shape::image(image_channels, spec.dataset.size, spec.dataset.size);
}

}  // namespace ignd
