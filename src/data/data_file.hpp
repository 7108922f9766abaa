#pragma once

#include "data/table.hpp"

#include <map>
#include <string>
#include <vector>

namespace ignd {

// A table in a file, and what the user says of it; what is empty is guessed.
struct DataFile {
  std::string path;  // "-" is the standard input
  std::string format;
  std::string delimiter;
  std::string header;
  std::vector<std::string> columns = {};  // that must be there
  std::string decimal = {};               // "point" or "comma"

  std::string name() const;    // for messages
  CsvDialect dialect() const;  // throws InvalidArgument
  // The dialect and the threads are filled in.
  Table read(TableOptions options = {}) const;
  // To be called where no target is named. Throws InvalidArgument, or FileError where the file is no table.
  [[noreturn]] void refuse_without_target() const;
};

// Models are binary: as data they would be refused for a reason that helps nobody. Throws FileError.
void refuse_model(const std::string& path);

}  // namespace ignd
