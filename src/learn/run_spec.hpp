#pragma once

#include "base/settings.hpp"
#include "data/data_file.hpp"
#include "ignd/model_file.hpp"
#include "learn/recorded_run.hpp"
#include "learn/run.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

class TableModel;

// What a model learns from is what it predicts.
using DataKind = ModelKind;

// The value of a key that is left open: it is recognised, or follows from others.
inline constexpr const char* left_open = "auto";

// Models that take no steps, which the others are compared with.
inline constexpr const char* best_constant_model = "best-constant";
inline constexpr const char* best_linear_model = "best-linear";

// The optimizer and the rate of a single run, as users write them.
struct MethodWords {
  std::string optimizer = {};             // a name, or
  std::string rule = {}, transform = {};  // a pair; nothing at all: the default for the kind of steps
  std::string rate = "auto";              // a number, or "auto": it is searched for
};

// Everything that determines a run: the data and how they are split and encoded, the model and how it is trained, and
// what is recorded. Command-line options, keys of experiment files, the store's keys, checkpoints and the documentation
// all come from the one table run_keys().
struct RunSpec {
  DataFile data;         // its path may be the name of a data set
  std::string checksum;  // SHA-256 of the file: a run is one of what it holds, not of what it is called; may be empty
  DatasetOptions dataset;
  MethodWords method;                                      // of a run that is not part of a study
  std::string model;                                       // empty: by the kind of data, like
  std::optional<std::uint64_t> epochs, patience;           // these
  std::optional<std::uint64_t> ensemble;                   // networks; by the other options, unless
  bool fast = false;                                       // it is to be a single one
  BatchOptions batch{.size = 0, .memory = 4'096'000'000};  // a size of 0: one sample at a time
  std::string start_from;  // a model file to begin with; empty: the seed draws the weights
  TrainingOptions training;
  RecordOptions record;
  std::shared_ptr<const TableModel> start = {};  // that of the file, once the spec is complete

  // Fills in the training's model, epochs, patience and batch.
  void complete(DataKind kind);

  bool is_baseline() const;
  bool is_ensemble() const { return ensemble.value_or(1) > 1; }
};

// A key of a run. Its default value is that of RunSpec().
struct RunKey : SettingKey {
  enum Use : unsigned { tables = 1, images = 2, texts = 4, stream = 8, files = images | texts, all = 15 };
  unsigned uses = all;     // where it means something
  bool is_option = true;   // of `ignd train`; otherwise it is for studies alone
  bool is_setting = true;  // of experiment files; otherwise their methods, rates and seeds say it
  bool determines = true;  // the run, which is resumed with the same value only
  std::string group;       // of the help
  std::string tool_help;   // what the tool adds to the help
  std::function<std::string(const RunSpec& spec)> get = {};
  std::function<void(RunSpec& spec, const std::string& value)> set = {};  // of a value in canonical form
};

const std::vector<RunKey>& run_keys();
std::vector<SettingKey> run_setting_keys();

// The optimizer, and the rate unless it is to be searched for. Throws InvalidArgument, with the nearest known name.
Optimizer optimizer_of(const MethodWords& words, const Optimizer& otherwise);
Optimizer optimizer_of(const MethodWords& words, const BatchOptions& batch);
std::optional<double> rate_of(const MethodWords& words);

// The settings of experiment files. Each is the other's inverse.
Settings settings_of(const RunSpec& spec);
RunSpec spec_of(const Settings& settings);

// The keys that determine a run, as a checkpoint keeps them; and what differs between two runs: "its seed is '1', not
// '2'", one text each. Earlier versions knew fewer keys: such a run had their defaults.
Settings determining_keys(const RunSpec& spec);
std::vector<std::string> differences(const Settings& before, const Settings& now,
                                     const std::function<bool(const RunKey& key)>& counts = {});

}  // namespace ignd
