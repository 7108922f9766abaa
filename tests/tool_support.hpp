#pragma once

#include "ignd/checkpoint.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What the tests of the tool share: command lines, and what they print.
namespace ignd::testing {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What --json prints: an object per line.
inline std::vector<nlohmann::json> events(const std::string& out) {
  std::vector<nlohmann::json> all;
  for (const std::string& line : lines_of(out)) all.push_back(nlohmann::json::parse(line));
  return all;
}

inline void expect_one_line(const std::string& errors, const std::string& program = "ignd") {
  const std::string shown = errors.substr(0, 500);
  EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << shown;
  EXPECT_TRUE(errors.starts_with(program + ": ") && errors.ends_with('\n')) << shown;
}

inline void expect_one_line(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, code) << outcome.err;
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, part)) << outcome.err << " should contain " << part;
}

// The tool refuses these arguments with this exit code, and one line that contains `part`.
inline void expect_refusal(const Words& arguments, int code, const std::string& part) {
  SCOPED_TRACE(::testing::PrintToString(arguments).substr(0, 300));
  const Outcome outcome = run_tool(arguments);
  expect_one_line(outcome, code, part);
  EXPECT_EQ(outcome.out, "");
}

// All entries of a model file but those that say what the data and the command are called.
inline std::map<std::string, Checkpoint::Entry, std::less<>> without_names(const std::string& model) {
  const Checkpoint file = Checkpoint::read(model);
  auto entries = file.entries();
  for (const char* name : {"facts.command", "facts.data", "facts.sha256"}) EXPECT_EQ(entries.erase(name), 1U) << name;
  return entries;
}

}  // namespace ignd::testing
