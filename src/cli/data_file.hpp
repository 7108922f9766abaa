#pragma once

#include "data/table.hpp"

#include <string>
#include <vector>

namespace ignd::cli {

// A table in a file, and what the user says of it; what is empty is guessed.
struct DataFile {
  std::string path;  // "-" is the standard input
  std::string format;
  std::string delimiter;
  std::string header;

  std::string name() const;    // for messages
  CsvDialect dialect() const;  // throws InvalidArgument
  // Some columns can be texts whatever they hold.
  Table read(const std::vector<std::string>& texts = {}) const;
};

// Models are binary: as data they would be refused for a reason that helps nobody. Throws FileError.
void refuse_model(const std::string& path);

// Refuses a path at which nothing could be saved, before the work is done, and one at which the data are. Throws
// FileError.
void check_can_save(const std::string& path, const DataFile& data);

// Throws FileError if both are one file; `what` is that file for the message, "the data".
void refuse_same_file(const std::string& path, const std::string& other, const char* what);

}  // namespace ignd::cli
