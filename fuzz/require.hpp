#pragma once

#include <cstdio>
#include <cstdlib>

namespace ignd::fuzz {

// Ends the program, which the fuzzer takes for a find.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace ignd::fuzz
