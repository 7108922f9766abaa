#pragma once

#include "learn/run_spec.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

struct DataSet;

}  // namespace ignd

// The commands with their options, but for those that train (train.hpp) or use a model (use_model.hpp). Each returns
// the exit code.
namespace ignd::cli {

// Exit codes besides 0 and that of an interruption (stop_signal.hpp).
inline constexpr int failure = 1;
inline constexpr int usage_error = 2;

// An option as the user gave it: "--epochs" and "3".
struct GivenOption {
  std::string name, value;
  bool is_flag = false;  // without a value
};

struct CompareOptions {
  std::vector<GivenOption> given;
  RunSpec spec;  // of all runs; they differ in:
  std::string optimizers = "sgd,ignd,adam,adam-ignd";
  std::string rates = "1e-6:1:2";
  std::uint64_t seeds = 5;
  std::string budget;      // empty: no limit
  std::uint64_t jobs = 0;  // 0: as many as the machine has cores
  std::string out;         // empty: named after the data
  bool json = false;
};

// Trains with every optimizer at every rate and seed, except for runs that are stored already, and recommends one.
int compare(CompareOptions options);

struct ReproduceOptions {
  std::vector<std::string> names;  // experiments, or paths of their files; empty: all that come with the program
  bool quick = false;
  std::optional<std::uint64_t> seeds;
  std::uint64_t jobs = 0;  // 0: as many as the machine has cores
  std::string out;         // empty: "results", or "results-preview" with --quick
  bool all = false;        // also experiments that are otherwise made only if they are named
  bool offline = false;    // do not download small data sets
  bool list = false;
};

// Makes the missing runs and the report.
int reproduce(const ReproduceOptions& options);

// Where `reproduce` puts results by default.
inline constexpr const char* default_folder = "results";
inline constexpr const char* preview_folder = "results-preview";

// Where `compare` puts those of an experiment by default.
inline std::string comparison_folder(const std::string& name) { return "compare-" + name; }

// Writes the report of a folder of results, finished or not.
enum class Announce { nothing, path };
int make_report(const std::string& folder, Announce announce = Announce::path);
std::string report_path(const std::string& folder);

struct DataOptions {
  std::string name;
  std::string from;  // address to use instead of the public one
};

int list_data();
int fetch_data(const DataOptions& options);

// Downloads a data set to the cache folder with a progress bar. Throws FileError.
std::filesystem::path fetch_with_progress(const DataSet& set, const std::string& from);
std::string in_megabytes(std::uint64_t bytes);  // "0.4 MB"

int print_data_path(const DataOptions& options);

struct TokenizeOptions {
  std::vector<std::string> paths;  // files or folders; "-" is the standard input
};

// Prints one line of token ids per file.
int tokenize(const TokenizeOptions& options);

}  // namespace ignd::cli
