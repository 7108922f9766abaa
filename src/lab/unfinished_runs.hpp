#pragma once

#include "base/pinned.hpp"
#include "lab/task.hpp"

#include <filesystem>

namespace ignd {

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
