#include "cli/save_model.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <fmt/format.h>

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

}  // namespace ignd::cli
