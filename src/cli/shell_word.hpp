#pragma once

#include <string>

namespace ignd::cli {

// As a shell takes it for one word.
std::string shell_word(const std::string& text);

}  // namespace ignd::cli
