#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Sparse examples, stored one after the other in a few arrays. The memory is reused for the next block.
struct ExampleBlock {
  std::vector<double> target;
  std::vector<double> weight;       // importance
  std::vector<std::uint64_t> line;  // in the file, from 1
  std::vector<std::size_t> end;     // of its features in the two arrays below
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::vector<std::string> kept;  // fields passed through unchanged, the same number for each example

  std::size_t size() const { return end.size(); }
  std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : end[i - 1]; }
  std::span<const std::uint32_t> indices(std::size_t i) const {
    return std::span(index).subspan(begin_of(i), end[i] - begin_of(i));
  }
  std::span<const float> values(std::size_t i) const {
    return std::span(value).subspan(begin_of(i), end[i] - begin_of(i));
  }

  // Completes the example whose features were just appended.
  void finish(double y, double importance, std::uint64_t at_line) {
    target.push_back(y);
    weight.push_back(importance);
    line.push_back(at_line);
    end.push_back(index.size());
  }

  // Drops features that were appended since the last finish().
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

// What to do about a row that is not an example.
enum class BadRows {
  stop,  // deliver the rows before it, then fail
  skip,  // count it
  mark   // count it, and deliver an example without features whose weight is NaN, so that rows keep their places
};

struct RowFault {
  std::uint64_t line = 0;
  std::string fault;  // "'x' is not a number"
};

struct ParseResult {
  std::uint64_t skipped = 0;
  std::optional<RowFault> first_skipped;
  std::optional<RowFault> stopped_at;  // with BadRows::stop: later lines were not parsed
};

// Parses a format in which every line is an example. Derive from this to add a format. Parsers keep no state, so
// several threads may share one.
class ExampleParser {
 public:
  virtual ~ExampleParser() = default;

  // Appends the examples of complete lines to the block. Lines end with a newline, optionally after a carriage return.
  ParseResult parse(std::string_view lines, std::uint64_t first_line, BadRows policy, ExampleBlock& block) const;

  // Appends the example of a line, or nothing for an empty line or a comment, and returns "". Otherwise returns what is
  // wrong, and may leave unfinished features in the block.
  virtual std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const = 0;
};

// LABEL [qid:N] INDEX:VALUE INDEX:VALUE ... [# comment] Indices are unsigned decimal numbers below 2^32. The query
// number is checked, but not used.
class SvmlightParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

// Vowpal Wabbit's text: [LABEL [IMPORTANCE [BASE]]] ['TAG] |NAMESPACE[:SCALE] FEATURE[:VALUE] FEATURE ... |NAMESPACE
// ... An example without a label has the target NaN. As in Vowpal Wabbit, the last word before the first bar is a tag,
// even without the apostrophe, if it touches the bar. Tags are ignored; the only base prediction accepted is 0.
//
// A feature that is named by an unsigned decimal number below 2^32, in the namespace without a name, has that number as
// its index. All others have the lower half of the XXH3 hash of their name, seeded with the hash of the namespace's
// name (0 if it has none: then it is hash_feature).
class VwTextParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

}  // namespace ignd
