#pragma once

#include "data/example_parser.hpp"

namespace ignd {

// LABEL [qid:N] INDEX:VALUE INDEX:VALUE ... [# comment]
// Indices are unsigned decimal numbers below 2^32. The query number is checked and not used.
class SvmlightParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

}  // namespace ignd
