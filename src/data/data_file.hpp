#pragma once

#include "data/table.hpp"
#include "ignd/frame.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// A table in a file or in memory, and what the user says about it. What is empty is guessed.
struct DataFile {
  std::string path = {};  // "-" is the standard input
  std::string format = {};
  std::string delimiter = {};
  std::optional<bool> header = {};
  std::vector<std::string> columns = {};  // that must exist
  std::optional<bool> decimal_comma = {};
  const Frame* frame = nullptr;  // the table, in place of a path

  std::string name() const;    // for messages
  CsvDialect dialect() const;  // throws InvalidArgument
  // Sets the options' dialect and threads itself.
  Table read(TableOptions options = {}) const;
  // Call this if no target is given. Throws InvalidArgument, or FileError if the file is not a table.
  [[noreturn]] void refuse_without_target() const;
};

// Throws FileError if the file is a model: reading it as data would fail with a confusing message.
void refuse_model(const std::string& path);

}  // namespace ignd
