#pragma once

#include <string>
#include <vector>

namespace ignd::cli {

struct TokenizeOptions {
  std::vector<std::string> paths;  // files or folders; "-" is the standard input
};

// Prints one line of token ids per file. Returns the exit code.
int tokenize(const TokenizeOptions& options);

}  // namespace ignd::cli
