#pragma once

#include "base/pinned.hpp"
#include "base/text.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

// What the tool prints: text for people, progress bars, and JSON for programs.
namespace ignd::cli {

// Foreign text for a terminal, never truncated and without control characters.
inline std::string for_terminal(std::string_view text) { return printable(text, text.size()); }
std::string lines_for_terminal(std::string_view text);  // the same, but keeps line ends

// Prints to the standard output. Names of columns, classes and files may hold anything: a terminal obeys none of it.
// Unlike fmt::print it does not throw if nothing can be written: a full disk must not end a training run before its
// model is saved. The program fails at its end instead (main.cpp).
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = lines_for_terminal(fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// The same to the standard error: a closed terminal must not end a run either.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = lines_for_terminal(fmt::format(format, std::forward<Arguments>(arguments)...));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Prints data for programs: to a file or a pipe byte by byte, and to a terminal as print() does. Returns whether all of
// it was written.
bool print_data(std::string_view data);

// Set by commands that must finish even if their output has no reader any more: training.
inline bool works_without_reader = false;

std::string shell_word(const std::string& text);  // quoted, if a shell would not take it as one word

// A progress bar with some words at the bottom of a terminal. Shows nothing if the standard error is not a terminal.
class Progress : Pinned {
 public:
  Progress(std::string what, std::uint64_t total, std::string unit, bool quiet);
  ~Progress();

  void update(std::uint64_t done);                    // with the rate in units per second and the time left
  void show(double share, const std::string& words);  // for work of unequal parts
  void clear();                                       // before something else is printed

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due() const;

  std::string what_;
  std::uint64_t total_;
  std::string unit_;
  std::uint64_t first_ = 0;
  bool visible_;
  bool started_ = false, drawn_ = false;
  Clock::time_point start_, last_ = Clock::now();
};

// One JSON object on one line of the standard output.
class JsonLine {
 public:
  explicit JsonLine(std::string_view event);
  JsonLine();  // a part of another one
  ~JsonLine();
  JsonLine(JsonLine&&) noexcept;
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  JsonLine& operator=(JsonLine&&) = delete;

  // A dot in the name goes one object deeper. Missing numbers and those that are not finite are null.
  JsonLine& set(std::string_view name, double value);
  JsonLine& set(std::string_view name, std::optional<double> value);
  JsonLine& set(std::string_view name, std::uint64_t value);
  JsonLine& set(std::string_view name, const std::string& value);
  JsonLine& set(std::string_view name, const char* value);
  JsonLine& set(std::string_view name, bool value);
  JsonLine& set(std::string_view name, std::span<const double> values);
  JsonLine& set(std::string_view name, std::span<const std::string> values);
  JsonLine& set(std::string_view name, std::span<const JsonLine> parts);  // an array of objects
  // An array of rows of `width` numbers each.
  JsonLine& set_rows(std::string_view name, std::span<const double> values, std::size_t width);

  std::string text() const;  // without a line end
  void print() const;

 private:
  struct Object;
  std::unique_ptr<Object> object_;
};

}  // namespace ignd::cli
