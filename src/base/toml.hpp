#pragma once

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <string_view>

#include <fmt/format.h>

namespace ignd {

[[noreturn]] inline void refuse_toml() { throw InvalidArgument("line 1: the file is not readable TOML"); }

}  // namespace ignd

// The TOML parser, always by this header: some files make version 3.3 fail its own assertions, and without assertions
// it relies on them. Here a failed assertion is a fault of the file. Slow to compile; not for headers.
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : ignd::refuse_toml())
#include <toml++/toml.h>

namespace ignd {

// Throws InvalidArgument with the line of the fault.
inline toml::table parse_toml(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw InvalidArgument(fmt::format("line {}: {}", error.source().begin.line, printable(error.description(), 200)));
  }
}

}  // namespace ignd
