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

// A result with what is not part of it: when and where it was made.
struct StoredRun {
  RunResult result;
  double seconds = 0;
  std::string version;  // of the program
  std::string host;     // processor and instruction set
};

// An experiment as it was asked for.
struct StoredExperiment {
  std::string name;
  std::string file;  // its whole text
  ExperimentOptions options;
  std::string command;  // that makes it again
  double wall_seconds = 0;
};

// The results of a folder, in one SQLite file. A run is written in one transaction when it ends, so that whatever
// happens to the program, what was finished is there. Throws FileError with one line for everything that can be wrong
// with a file; the file stays as it was.
class Store {
 public:
  enum class Access { read, write };

  // To write, the folder is made where there is none, and nobody else may be writing: a second program is refused.
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

  // In the order in which they were first asked for. What is asked for again takes the place of what was there, and
  // keeps its time.
  std::vector<StoredExperiment> experiments() const;
  void put(const StoredExperiment& experiment);
  void add_wall_seconds(const std::string& experiment, double seconds);

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

// Where the results of a folder are.
std::filesystem::path store_path(const std::filesystem::path& folder);

// Where runs that resume keep what they need to go on: a file for each of them, in a folder beside their results.
class UnfinishedRuns : Pinned {
 public:
  explicit UnfinishedRuns(const std::filesystem::path& results);
  ~UnfinishedRuns();  // a folder without a file is removed

  // Runs can only write where there is a folder. Throws FileError.
  void make_folder() const;

  std::filesystem::path path_of(const RunConfig& config) const;

  // For a run whose result is stored: its file, and what was left half written by a program that was killed.
  void remove(const RunConfig& config) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace ignd
