#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "ignd/error.hpp"
#include "lab/store.hpp"

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

}  // namespace

int merge(const MergeOptions& options) {
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

}  // namespace ignd::cli
