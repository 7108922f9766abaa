#pragma once

#include "data/example_reader.hpp"

#include <string>
#include <string_view>

namespace ignd::fuzz {

// Requires of any text what holds for every parser. The first byte decides about the size of blocks. Returns the
// examples, without the bad rows.
ExampleBlock check_examples(ExampleFormat format, std::string_view text);

// Requires that both hold the same examples; lines are not compared.
void require_same(const ExampleBlock& a, const ExampleBlock& b, const char* what);

ExampleBlock parse_good(ExampleFormat format, std::string_view text);

}  // namespace ignd::fuzz
