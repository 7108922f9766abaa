#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "lab/store.hpp"
#include "learn/stream_merge.hpp"
#include "learn/stream_state.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

void check_folder(const std::string& folder, const std::string& output) {
  std::error_code ignored;
  if (!fs::exists(store_path(folder), ignored)) {
    throw FileError(fmt::format("there are no results in {}", quoted_path(folder)));
  }
  if (fs::equivalent(folder, output, ignored)) {
    throw InvalidArgument(fmt::format("{} cannot be joined with itself", quoted_path(folder)));
  }
}

// A key in one line, short enough to be found.
std::string one_line(std::string key) {
  std::ranges::replace(key, '\n', ' ');
  constexpr std::size_t long_enough = 300;
  return printable(key, long_enough);
}

void tell_conflicts(const MergeReport& merged, const std::string& folder, const std::string& output) {
  constexpr std::size_t most_named = 20;
  for (std::size_t i = 0; i < std::min(merged.conflicts.size(), most_named); ++i) {
    print_error("ignd: another result in {}: {}\n", quoted_path(folder), one_line(merged.conflicts[i]));
  }
  if (merged.conflicts.size() > most_named) {
    print_error("ignd: and {} more such runs\n", merged.conflicts.size() - most_named);
  }
  for (const std::string& name : merged.experiments) {
    print_error("{}: {} has another experiment of this name; that of {} stays, and all runs are there\n",
                printable(name), quoted_path(folder), quoted_path(output));
  }
}

bool has_unfinished_runs(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / "unfinished", ignored);
}

int merge_results(const MergeOptions& options) {
  for (const std::string& folder : options.inputs) check_folder(folder, options.output);
  Store into(options.output, Store::Access::write);
  std::uint64_t conflicts = 0;
  for (const std::string& folder : options.inputs) {
    const MergeReport merged = into.merge(Store(folder, Store::Access::read));
    print_error("{}: {} runs added, {} were there already\n", quoted_path(folder), merged.added, merged.equal);
    tell_conflicts(merged, folder, options.output);
    if (has_unfinished_runs(folder)) {
      print_error("{}: some runs are unfinished; the command that began them resumes them\n", quoted_path(folder));
    }
    conflicts += merged.conflicts.size();
  }
  if (conflicts == 0) return 0;
  print_error(
      "ignd: {} runs have different results; those of {} stay, and the others are in its table `conflict`: several "
      "versions or kinds of processors differ in last digits, everything else is an error\n",
      conflicts, quoted_path(options.output));
  return failure;
}

int merge_models(const MergeOptions& options) {
  if (options.base.empty()) {
    throw InvalidArgument("models of parts of a stream are merged with --base, the model that all were resumed from");
  }
  const auto read = [&](const std::string& path) {
    std::error_code ignored;
    if (fs::equivalent(path, options.output, ignored)) {
      throw InvalidArgument(fmt::format("{} would be overwritten; choose another -o", quoted_path(path)));
    }
    return StreamPart{path, Checkpoint::read(path)};
  };
  const StreamPart base = read(options.base);
  std::vector<StreamPart> parts;
  for (const std::string& path : options.inputs) parts.push_back(read(path));
  const Checkpoint merged = merge_streams(base, parts);
  merged.write(options.output);
  const StreamStatistics statistics = load_statistics(merged);
  print("{} examples in {} parts, average progressive loss {}\n", with_commas(statistics.examples), parts.size(),
        in_short(statistics.average_loss(), 6));
  print("saved {}\n", for_terminal(options.output));
  return 0;
}

}  // namespace

int merge(const MergeOptions& options) {
  std::error_code ignored;
  const bool of_models = !options.base.empty() || fs::is_regular_file(options.inputs.at(0), ignored);
  return of_models ? merge_models(options) : merge_results(options);
}

}  // namespace ignd::cli
