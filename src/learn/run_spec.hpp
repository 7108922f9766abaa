#pragma once

#include "base/settings.hpp"
#include "data/data_file.hpp"
#include "learn/recorded_run.hpp"
#include "learn/run.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// What a model learns from.
enum class DataKind { table, images, texts };

// Models that take no steps, which the others are compared with.
inline constexpr const char* best_constant_model = "best-constant";
inline constexpr const char* best_linear_model = "best-linear";

// Everything that determines a run: the data and how they are split and encoded, the model and how it is trained, and
// what is recorded. Command-line options, keys of experiment files, the store's keys and the documentation all come
// from the one table run_keys().
struct RunSpec {
  DataFile data;           // its path may be the name of a data set
  std::string checksum;    // SHA-256 of the file: a run is one of what it holds, not of what it is called; may be empty
  std::string text;        // the column of texts to predict from; empty: the data are a table, or files
  std::size_t size = 224;  // pixels that images are high and wide
  std::size_t length = 256;  // tokens of a text that are read
  DatasetOptions dataset;
  std::string model;                                       // empty: by the kind of data, like
  std::optional<std::uint64_t> epochs, patience;           // these
  std::optional<std::uint64_t> ensemble;                   // networks; by the other options, unless
  bool fast = false;                                       // it is to be a single one
  BatchOptions batch{.size = 0, .memory = 4'096'000'000};  // a size of 0: one sample at a time
  TrainingOptions training;
  RecordOptions record;

  // Fills in the training's model, epochs, patience and batch.
  void complete(DataKind kind);

  bool is_baseline() const;
  bool is_ensemble() const { return ensemble.value_or(1) > 1; }

  // A canonical text of all keys, the same for the same run: "key=value" lines.
  std::string text_of_keys() const;
};

// A key of a run. Its default value is that of RunSpec().
struct RunKey : SettingKey {
  enum Use : unsigned { tables = 1, images = 2, texts = 4, stream = 8, files = images | texts, all = 15 };
  unsigned uses = all;    // where it means something
  bool is_option = true;  // of `ignd train`; otherwise it is for studies alone
  std::string group;      // of the help
  std::function<std::string(const RunSpec& spec)> get = {};
  std::function<void(RunSpec& spec, const std::string& value)> set = {};  // of a value in canonical form
};

// All but the optimizer, the rate and the seed, which are those of a method and of a run.
const std::vector<RunKey>& run_keys();
std::vector<SettingKey> run_setting_keys();

// The optimizer and the rate of a single run, as users write them.
struct MethodWords {
  std::string optimizer;        // a name, or
  std::string rule, transform;  // a pair; nothing at all: the default for the kind of steps
  std::string rate = "auto";    // a number, or "auto": it is searched for
};

// The optimizer, and the rate unless it is to be searched for. Throws InvalidArgument, with the nearest known name.
Optimizer optimizer_of(const MethodWords& words, const BatchOptions& batch);
std::optional<double> rate_of(const MethodWords& words);

// Each is the other's inverse.
Settings settings_of(const RunSpec& spec);
RunSpec spec_of(const Settings& settings);

}  // namespace ignd
