#pragma once

#include "base/pinned.hpp"
#include "data/data_file.hpp"
#include "ignd/checkpoint.hpp"

#include <filesystem>
#include <string>

namespace ignd::cli {

// Where the model of these data is saved unless the user names a file: NAME.ignd in the current folder.
std::string default_model_path(const std::string& data);

// Where a run is saved before its end, and the name of the model that it will be: NAME.partial.ignd for NAME.ignd. What
// is not the name of a partial run is its own.
std::string partial_path(const std::string& model);
std::string whole_path(const std::string& partial);

struct Saved {
  std::string path;       // empty: nowhere
  std::string fault;      // why it is not where it was asked for, and where it is instead; empty: it is
  bool replaced = false;  // another model

  const char* verb() const { return replaced ? "replaced" : "saved"; }
};

// The file that a run will save its model in. From the start to the end of the run no other run can have the same one.
// The lock is a file beside it, `.NAME.lock`; it is void as soon as its owner is dead.
class OutputFile : Pinned {
 public:
  struct Options {
    std::string save;    // the name that the user gave; empty: none
    std::string resume;  // the run to resume; empty: none
  };

  // Throws FileError where nothing could be saved, another run has the name, or a file there is not a model.
  OutputFile(const Options& options, const DataFile& data);
  ~OutputFile();

  const std::string& path() const { return path_; }

  // To be called before training. Unless the user gave the name, an older model may only be replaced if it is of the
  // same kind and has the target and the columns of this one (the classes, where there are no columns). Throws
  // FileError.
  void check_same_data(const Checkpoint& now) const;

  // Whatever happens, what was learned is worth another try elsewhere: where the file cannot be written, one in the
  // folder for temporary files.
  Saved save(const Checkpoint& checkpoint);  // a model that is complete; its partial run is removed
  Saved save_partial(const Checkpoint& checkpoint);

 private:
  void lock();

  std::string path_, partial_;
  bool asked_ = false;        // for this very name
  bool goes_on_ = false;      // with what is in path_
  bool has_partial_ = false;  // of this run
  std::filesystem::path lock_path_;
  int lock_ = -1;
};

// Refuses a path at which nothing could be saved, before the work is done, and one at which the data are. Throws
// FileError.
void check_can_save(const std::string& path, const DataFile& data);

// Throws FileError if both are one file; `what` is that file for the message, "the data".
void refuse_same_file(const std::string& path, const std::string& other, const char* what);

}  // namespace ignd::cli
