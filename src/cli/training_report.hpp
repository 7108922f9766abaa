#pragma once

#include "cli/result_tables.hpp"
#include "cli/training_data.hpp"
#include "learn/ensemble.hpp"

#include <atomic>
#include <string>
#include <vector>

// The report of a training run: a page about its model.
namespace ignd::cli {

// What the command saw of the run.
struct WatchedRun {
  bool resumed = false;
  std::vector<EpochReport> epochs = {};    // of a single network
  std::vector<MemberReport> members = {};  // of an ensemble
  std::vector<std::string> parts = {};     // that were measured: "validation", "test"
  std::vector<Evaluated> judged = {};      // the model and the baselines on these parts
};

// NAME.html for a model file NAME.ignd.
std::string model_page_path(const std::string& model);

// Checks before training that the page can be written, and that no file of the user's is there. Throws FileError.
void check_report(const std::string& path, const DataFile& data);

// Writes the page about the model of a finished run, as its checkpoint has it. Returns what is missing on it, or "".
// Throws FileError, and Stopped once `stop` is set.
std::string write_training_report(const std::string& path, const TrainingData& data, const Checkpoint& model,
                                  const WatchedRun& run, const std::atomic<bool>& stop, bool shows_progress);

}  // namespace ignd::cli
