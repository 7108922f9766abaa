#pragma once

#include "base/atomic_file.hpp"
#include "base/pinned.hpp"
#include "data/data_file.hpp"
#include "ignd/checkpoint.hpp"

#include <filesystem>
#include <string>

namespace ignd::cli {

// The default model file: NAME.ignd in the current folder, named after the data.
std::string default_model_path(const std::string& data);

// Where a run is saved before its end, NAME.partial.ignd for NAME.ignd, and back. whole_path() returns other names
// unchanged.
std::string partial_path(const std::string& model);
std::string whole_path(const std::string& partial);

struct Saved {
  std::string path;       // empty: not saved
  std::string fault;      // why the file is elsewhere or missing; empty if it is where the user wants it
  bool replaced = false;  // an older model

  const char* verb() const { return replaced ? "replaced" : "saved"; }
};

// The file that a run will save its model in. A lock keeps it from other runs from the start to the end of this one: a
// file beside it, `.NAME.lock`, which is void once its owner is dead.
class OutputFile : Pinned {
 public:
  struct Options {
    std::string save;    // the name that the user gave, if any
    std::string resume;  // the run to resume, if any
  };

  // Throws FileError if the place is not writable, another run has the name, or a file there is not a model.
  OutputFile(const Options& options, const DataFile& data);
  ~OutputFile();

  const std::string& path() const { return path_; }

  // Call this before training. Unless the user gave the name, an older model may only be replaced if it has the same
  // kind, target and columns (or classes, if there are no columns). Throws FileError otherwise.
  void check_same_data(const Checkpoint& now) const;

  // If the file cannot be written, tries the folder for temporary files: what was learned must not be lost.
  Saved save(const Checkpoint& checkpoint);  // a complete model; removes its partial run
  Saved save_partial(const Checkpoint& checkpoint);

 private:
  void lock();

  std::string path_, partial_;
  bool asked_ = false;        // the user gave this very name
  bool goes_on_ = false;      // the run resumes what is in path_
  bool has_partial_ = false;  // of this run, at partial_
  std::filesystem::path lock_path_;
  Descriptor lock_;
};

// Checks before the work is done that a file can be saved there, and that it is not the data. Throws FileError.
void check_can_save(const std::string& path, const DataFile& data);

// Throws FileError if both are one file; `what` is that file for the message, "the data".
void refuse_same_file(const std::string& path, const std::string& other, const char* what);

}  // namespace ignd::cli
