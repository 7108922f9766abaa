#pragma once

#include "lab/task.hpp"

#include <string>
#include <vector>

namespace ignd {

// A key of an experiment file. What the file is checked against is what the documentation lists.
struct FileKey {
  enum class Kind { text, number, count, flag, texts, pairs, rates, table, tables };
  std::string table;  // "" is the file itself
  std::string name;
  Kind kind;
  bool required;
  std::string meaning;
};

const std::vector<FileKey>& file_keys();

// "whole number", "true or false", ...
const char* kind_name(FileKey::Kind kind);

// The keys of experiment files and the settings of every task as Markdown, from the tables that the files are checked
// against.
std::string describe_experiment_keys();

}  // namespace ignd
