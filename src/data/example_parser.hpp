#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Examples with few active features each, as the readers of sparse files give them, one behind the other in a few
// arrays that are used again for the next block.
struct ExampleBlock {
  std::vector<double> target;
  std::vector<double> weight;       // importance
  std::vector<std::uint64_t> line;  // where in the file the example is, from 1
  std::vector<std::size_t> end;     // where its features end in the two arrays below
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::vector<std::string> kept;  // fields that are passed on as they stand, as many for each example

  std::size_t size() const { return end.size(); }
  std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : end[i - 1]; }
  std::span<const std::uint32_t> indices(std::size_t i) const {
    return std::span(index).subspan(begin_of(i), end[i] - begin_of(i));
  }
  std::span<const float> values(std::size_t i) const {
    return std::span(value).subspan(begin_of(i), end[i] - begin_of(i));
  }

  // Ends the example whose features were just appended.
  void finish(double y, double importance, std::uint64_t at_line) {
    target.push_back(y);
    weight.push_back(importance);
    line.push_back(at_line);
    end.push_back(index.size());
  }

  // Forgets features that were appended since.
  void drop_unfinished() {
    index.resize(begin_of(size()));
    value.resize(begin_of(size()));
  }

  void clear() {
    target.clear();
    weight.clear();
    line.clear();
    end.clear();
    index.clear();
    value.clear();
    kept.clear();
  }
};

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

// LABEL [qid:N] INDEX:VALUE INDEX:VALUE ... [# comment]
// Indices are unsigned decimal numbers below 2^32. The query number is checked and not used.
class SvmlightParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

// Vowpal Wabbit's text: [LABEL [IMPORTANCE [BASE]]] ['TAG] |NAMESPACE[:SCALE] FEATURE[:VALUE] FEATURE ... |NAMESPACE
// ... An example without a label has the target NaN. As there, the last word before the first bar is a tag also without
// the apostrophe if it touches the bar. Tags are not used, and of base predictions only 0 is taken.
//
// A feature that is named by an unsigned decimal number below 2^32, in the namespace without a name, has that number as
// its index. All others have the lower half of the XXH3 hash of their name, seeded with the hash of the namespace's
// name (0 if it has none: then it is hash_feature).
class VwTextParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

}  // namespace ignd
