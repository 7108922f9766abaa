#pragma once

#include <string>

namespace ignd {

struct GnuplotOutcome {
  std::string output;
  std::string fault;  // one line; empty: it went well
};

// Gives the script to the program's standard input, with no shell and none of the user's settings in between, and
// takes what it writes to standard output.
GnuplotOutcome run_gnuplot(const std::string& program, const std::string& script);

}  // namespace ignd
