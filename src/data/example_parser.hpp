#pragma once

#include "data/example_block.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ignd {

// What to do about a row that is no example.
enum class BadRows {
  stop,  // the rows before it are given, then there is an error
  skip,  // it is counted
  mark   // it is counted, and given as an example without features whose weight is NaN: rows stay in their places
};

struct RowFault {
  std::uint64_t line = 0;
  std::string fault;  // "'x' is not a number"
};

struct ParseResult {
  std::uint64_t skipped = 0;
  std::optional<RowFault> stopped_at;  // with BadRows::stop: the lines behind it were not looked at
};

// A format of which every line is an example of its own. Derive from this to add a format. Parsers remember nothing:
// several threads may use one.
class ExampleParser {
 public:
  virtual ~ExampleParser() = default;

  // Appends the examples of some whole lines to the block. Lines end with a newline, or a carriage return and a
  // newline.
  ParseResult parse(std::string_view lines, std::uint64_t first_line, BadRows policy, ExampleBlock& block) const;

  // Appends the example of one line, or nothing if the line is there for people only, and returns "". Otherwise returns
  // what is wrong, and may leave features behind that belong to no example.
  virtual std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const = 0;
};

}  // namespace ignd
