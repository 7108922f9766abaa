#pragma once

#include "ignd/checkpoint.hpp"

#include <filesystem>
#include <string>

namespace ignd::cli {

// In a folder, a name like this one that nothing has yet.
std::string free_path(const std::filesystem::path& folder, const std::string& stem);

struct Saved {
  std::string path;   // empty: nowhere
  std::string fault;  // why it is not where it was asked for, and where it is instead; empty: it is
};

// What was learned is worth another try elsewhere: where the path cannot be written, a file in the folder for temporary
// ones.
Saved save_somewhere(const Checkpoint& checkpoint, const std::string& path);

}  // namespace ignd::cli
