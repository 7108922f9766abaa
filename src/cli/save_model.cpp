#include "cli/save_model.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {

namespace fs = std::filesystem;

std::string free_path(const fs::path& folder, const std::string& stem) {
  fs::path path = folder / (stem + ".ignd");
  for (int i = 2; fs::exists(path); ++i) path = folder / fmt::format("{}-{}.ignd", stem, i);
  return path;
}

Saved save_somewhere(const Checkpoint& checkpoint, const std::string& path) {
  try {
    checkpoint.write(path);
    return {path, ""};
  } catch (const FileError& fault) {
    try {
      const std::string refuge = free_path(fs::temp_directory_path(), fs::path(path).stem());
      checkpoint.write(refuge);
      return {refuge, fmt::format("{}; saved {} instead", fault.what(), quoted_path(refuge))};
    } catch (const std::exception&) {  // the folder for temporary files may not be there either
      return {"", fmt::format("{}; the model is not saved", fault.what())};
    }
  }
}

void check_can_save(const std::string& path, const DataFile& data) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw FileError(fmt::format("cannot save {}: there is no folder {}", quoted_path(path), quoted_path(folder)));
  }
  if (fs::is_directory(path, ignored) || fs::path(path).filename().empty()) {
    throw FileError(fmt::format("cannot save {}: it is a folder", quoted_path(path)));
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw FileError(fmt::format("cannot save {}: it is not a regular file", quoted_path(path)));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError(fmt::format("cannot save {}: the folder cannot be written to", quoted_path(path)));
  }
  refuse_same_file(path, data.path, "the data");
}

void refuse_same_file(const std::string& path, const std::string& other, const char* what) {
  std::error_code ignored;
  if (fs::equivalent(path, other, ignored)) {
    throw FileError(fmt::format("cannot save {}: that is {}", quoted_path(path), what));
  }
}

}  // namespace ignd::cli
