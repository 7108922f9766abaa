#include "data/example_parser.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ignd {

ParseResult ExampleParser::parse(std::string_view lines, std::uint64_t first_line, BadRows policy,
                                 ExampleBlock& block) const {
  ParseResult result;
  for (std::uint64_t number = first_line; !lines.empty(); ++number) {
    const std::size_t newline = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, newline);
    lines.remove_prefix(std::min(newline + 1, lines.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);

    std::string fault = parse_line(line, number, block);
    if (fault.empty()) continue;
    block.drop_unfinished();
    if (policy == BadRows::stop) {
      result.stopped_at = RowFault{number, std::move(fault)};
      return result;
    }
    ++result.skipped;
    if (policy != BadRows::mark) continue;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    block.finish(none, none, number);
  }
  return result;
}

}  // namespace ignd
