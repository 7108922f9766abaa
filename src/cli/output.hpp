#pragma once

#include "core/text.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {

// Prints to the standard output. Unlike fmt::print it does not throw where nothing can be written: a full disk must not
// end a training run before its model is saved. The program fails at its end (main.cpp).
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// The same to the standard error: a terminal that was closed must not end a run either.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Somebody's text in what is printed, however long; without anything that a terminal would obey.
inline std::string shown(std::string_view text) { return printable(text, text.size()); }

// Set by commands whose work is worth doing though nobody reads on: training.
inline bool works_without_reader = false;

}  // namespace ignd::cli
