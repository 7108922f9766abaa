#pragma once

#include "base/text.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {

// Somebody's text in what is printed, however long; without anything that a terminal would obey.
inline std::string for_terminal(std::string_view text) { return printable(text, text.size()); }

// The same for several lines.
inline std::string lines_for_terminal(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    out += for_terminal(text.substr(0, end)) + '\n';
  }
  return out + for_terminal(text);
}

// Prints to the standard output. Unlike fmt::print it does not throw where nothing can be written: a full disk must not
// end a training run before its model is saved. The program fails at its end (main.cpp). Names of columns, classes and
// files may hold anything; none of it is obeyed by a terminal.
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = lines_for_terminal(fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// The same to the standard error: a terminal that was closed must not end a run either.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = lines_for_terminal(fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// For programs: to a file or a pipe byte by byte, and to a terminal as print() does. False: it could not be written.
inline bool print_data(std::string_view data) {
  const std::string lines = ::isatty(STDOUT_FILENO) != 0 ? lines_for_terminal(data) : "";
  const std::string_view text = lines.empty() ? data : lines;
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

// Set by commands whose work is worth doing though nobody reads on: training.
inline bool works_without_reader = false;

}  // namespace ignd::cli
