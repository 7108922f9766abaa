#pragma once

#include "data/data_file.hpp"
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

// Refuses a path at which nothing could be saved, before the work is done, and one at which the data are. Throws
// FileError.
void check_can_save(const std::string& path, const DataFile& data);

// Throws FileError if both are one file; `what` is that file for the message, "the data".
void refuse_same_file(const std::string& path, const std::string& other, const char* what);

}  // namespace ignd::cli
