#include "cli/experiment_files.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 1 << 20;

// Beside an installed program, or where it was built.
fs::path own_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path installed = program.parent_path().parent_path() / "share/ignd/experiments";
  return fs::is_directory(installed, failed) ? installed : fs::path(IGND_EXPERIMENTS);
}

std::vector<std::string> own_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(own_folder(), failed)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".toml"); }

void read_one(const std::string& name, const fs::path& path, const ExperimentOptions& options,
              std::vector<ExperimentFile>& files, std::vector<std::string>& faults) {
  try {
    std::string text = read_file(path, largest_file + 1);
    if (text.size() > largest_file)
      throw FileError(fmt::format("{} is no experiment file: too large", quoted_path(path)));
    Experiment experiment = parse_experiment(text, path.stem(), options);
    files.push_back({name, std::move(text), options, std::move(experiment)});
  } catch (const InvalidArgument& fault) {
    std::istringstream lines(fault.what());
    for (std::string line; std::getline(lines, line);) faults.push_back(fmt::format("{}: {}", quoted_path(path), line));
  } catch (const FileError& fault) {
    faults.emplace_back(fault.what());
  }
}

}  // namespace

std::vector<ExperimentFile> read_experiments(const std::vector<std::string>& names, const ExperimentOptions& options,
                                             std::vector<std::string>& faults) {
  const std::vector<std::string> known = own_names();
  std::vector<ExperimentFile> files;
  for (const std::string& name : names.empty() ? known : names) {
    if (is_path(name)) {
      read_one(name, name, options, files, faults);
      continue;
    }
    const auto own = std::ranges::find(known, name);
    if (own != known.end()) {
      read_one(*own, own_folder() / (*own + ".toml"), options, files, faults);
    } else {
      faults.push_back(fmt::format("there is no experiment {}{}; `ignd reproduce --list` shows them", in_quotes(name),
                                   suggestion(name, known)));
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (files[i].experiment.name != files[k].experiment.name) continue;
      faults.push_back(fmt::format("two experiments are named {}", in_quotes(files[i].experiment.name)));
    }
  }
  return files;
}

}  // namespace ignd::cli
