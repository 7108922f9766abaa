#pragma once

#include "base/pinned.hpp"
#include "lab/experiment.hpp"
#include "lab/task.hpp"
#include "learn/run_result.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// A result, and when and where it was made.
struct StoredRun {
  RunResult result;
  double seconds = 0;
  std::string version;  // of the program
  std::string host;     // processor and instruction set
};

// An experiment as it was requested.
struct StoredExperiment {
  std::string name;
  std::string file;  // its whole text
  ExperimentOptions options;
  std::string command;  // that makes it again
  double wall_seconds = 0;
};

// What became of the runs of another store.
struct MergeReport {
  std::uint64_t added = 0, equal = 0;
  // The keys of runs with different results here and there, and the experiments of the same name that differ. The
  // results here stay, those of the other store are kept beside them (see Store::merge).
  std::vector<std::string> conflicts, experiments;
};

// The results of a folder, in one SQLite file. Each run is written in one transaction when it ends, so that finished
// runs survive, however the program ends. Any fault of the file throws FileError with one line, and leaves the file as
// it was.
class Store {
 public:
  enum class Access { read, write };

  // A writer creates the folder if it is missing, and refuses to share it with another writer.
  Store(const std::filesystem::path& folder, Access access);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept = delete;

  std::filesystem::path folder() const;

  std::optional<StoredRun> find(const RunConfig& config) const;
  bool contains(const RunConfig& config) const;
  void add(const RunConfig& config, const StoredRun& run);

  // Takes over the runs and experiments of another store, in one transaction. A run that both have must have the same
  // result: seconds, version and host may differ. One with another result goes to the table "conflict", which no report
  // uses, with the folder that it came from: nothing is dropped.
  MergeReport merge(const Store& other);
  std::uint64_t conflicts() const;  // in that table

  // In the order of their first request. A repeated request replaces the earlier one, and keeps its place and its
  // time.
  std::vector<StoredExperiment> experiments() const;
  void put(const StoredExperiment& experiment);
  void add_wall_seconds(const std::string& experiment, double seconds);

 private:
  struct Database;
  std::optional<StoredRun> find_key(const std::string& key) const;
  void add_key(const std::string& key, const StoredRun& run);
  void merge_experiments(const Store& other, MergeReport& report);
  bool add_conflict(const std::string& key, const StoredRun& run, const std::string& folder);
  std::unique_ptr<Database> database_;
};

// The store's file in a folder of results.
std::filesystem::path store_path(const std::filesystem::path& folder);

// The checkpoints of runs that can be resumed: a file for each of them, in a folder beside the results.
class UnfinishedRuns : Pinned {
 public:
  explicit UnfinishedRuns(const std::filesystem::path& results);
  ~UnfinishedRuns();  // removes the folder if it is empty

  // Runs write only into an existing folder. Throws FileError.
  void make_folder() const;

  std::filesystem::path path_of(const RunConfig& config) const;

  // Removes the checkpoint of a run whose result is stored, and temporary files that killed programs left of it.
  void remove(const RunConfig& config) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace ignd
