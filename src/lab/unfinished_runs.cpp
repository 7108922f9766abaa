#include "lab/unfinished_runs.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <system_error>

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

namespace ignd {

namespace fs = std::filesystem;

UnfinishedRuns::UnfinishedRuns(const fs::path& results) : folder_(results / "unfinished") {}

UnfinishedRuns::~UnfinishedRuns() {
  ::rmdir(folder_.c_str());  // which fails where there are files, or it is something else
}

void UnfinishedRuns::make_folder() const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (!failed) return;
  throw FileError(
      fmt::format("cannot make the folder {} ({}); choose another with --out", quoted_path(folder_), failed.message()));
}

fs::path UnfinishedRuns::path_of(const RunConfig& config) const {
  const std::string text = config.text();
  return folder_ / fmt::format("{:016x}.ignd", XXH3_64bits(text.data(), text.size()));
}

void UnfinishedRuns::remove(const RunConfig& config) const {
  const std::string name = path_of(config).filename().string();
  std::error_code failed;  // what cannot be removed is in nobody's way
  for (fs::directory_iterator file(folder_, failed), end; !failed && file != end; file.increment(failed)) {
    std::error_code stays;
    if (file->path().filename().string().starts_with(name)) fs::remove(file->path(), stays);
  }
}

}  // namespace ignd
