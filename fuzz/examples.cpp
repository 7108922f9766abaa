#include "examples.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "require.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd::fuzz {
namespace {

class Text final : public ByteSource {
 public:
  explicit Text(std::string_view text) : left_(text) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = left_.copy(into.data(), into.size());
    left_.remove_prefix(count);
    return count;
  }
  void stop_waiting() override {}
  const std::string& name() const override { return name_; }

 private:
  std::string_view left_;
  std::string name_ = "the text";
};

struct Outcome {
  ExampleBlock examples;
  std::uint64_t skipped = 0;
  std::string error;
};

void append(ExampleBlock& all, const ExampleBlock& block, std::size_t i) {
  const auto indices = block.indices(i);
  const auto values = block.values(i);
  all.index.insert(all.index.end(), indices.begin(), indices.end());
  all.value.insert(all.value.end(), values.begin(), values.end());
  all.finish(block.target[i], block.weight[i], block.line[i]);
}

Outcome read_blocks(ExampleFormat format, std::string_view text, const ExampleReaderOptions& options) {
  ExampleReader reader(std::make_unique<Text>(text), format, options);
  Outcome outcome;
  ExampleBlock block;
  try {
    while (reader.next(block)) {
      for (std::size_t i = 0; i < block.size(); ++i) append(outcome.examples, block, i);
    }
  } catch (const FileError& error) {
    outcome.error = error.what();
  }
  outcome.skipped = reader.skipped_rows();
  return outcome;
}

// The text as every reader sees it: without a byte-order mark, with line feeds. None if it is refused as a whole, as
// UTF-16 and files of other formats are. Nothing follows it in memory, so that the sanitizer sees reads beyond its end.
std::optional<std::vector<char>> as_lines(std::string_view text) {
  std::vector<char> lines(text.size());
  std::size_t filled = 0;
  try {
    const auto bytes = as_text(std::make_unique<Text>(text));
    while (const std::size_t count = bytes->read(std::span(lines).subspan(filled))) filled += count;
  } catch (const FileError&) {
    return std::nullopt;
  }
  return std::vector<char>(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(filled));
}

void require_sound(const ExampleBlock& block, std::string_view text) {
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + 1;
  const auto finite = [](auto number) { return std::isfinite(number); };
  require(std::ranges::is_sorted(block.end), "examples follow each other");
  require(block.index.size() == (block.size() == 0 ? 0 : block.end.back()), "every feature has an example");
  require(block.value.size() == block.index.size(), "every feature has a value");
  require(std::ranges::all_of(block.value, finite), "values are finite");
  require(std::ranges::all_of(block.weight, [&](double w) { return w >= 0 && finite(w); }), "importances are sound");
  require(std::ranges::adjacent_find(block.line, std::greater_equal<>()) == block.line.end(),
          "no line has two examples");
  require(block.size() == 0 || (block.line.front() >= 1 && block.line.back() <= lines), "examples are in the text");
}

// The examples of `all` in lines before that one.
ExampleBlock before(const ExampleBlock& all, std::uint64_t line) {
  ExampleBlock front;
  for (std::size_t i = 0; i < all.size() && all.line[i] < line; ++i) append(front, all, i);
  return front;
}

}  // namespace

void require_same(const ExampleBlock& a, const ExampleBlock& b, const char* what) {
  const auto same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  require(std::ranges::equal(a.target, b.target, same_bits) && a.weight == b.weight && a.end == b.end &&
              a.index == b.index && std::ranges::equal(a.value, b.value, same_bits),
          what);
}

ExampleBlock parse_good(ExampleFormat format, std::string_view text) {
  ExampleBlock block;
  make_example_parser(format)->parse(text, 1, BadRows::skip, block);
  return block;
}

ExampleBlock check_examples(ExampleFormat format, std::string_view text) {
  if (text.empty()) return {};
  const std::size_t block_size = 1 + static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  const auto parser = make_example_parser(format);
  guess_example_format(text);
  const std::optional<std::vector<char>> exact = as_lines(text);
  if (!exact) {
    require(!read_blocks(format, text, {1, BadRows::skip, block_size}).error.empty(), "what is refused has a reason");
    return {};
  }
  const std::string_view lines(exact->data(), exact->size());

  ExampleBlock good;
  const ParseResult skipping = parser->parse(lines, 1, BadRows::skip, good);
  require_sound(good, lines);

  ExampleBlock front;
  const ParseResult stopping = parser->parse(lines, 1, BadRows::stop, front);
  require(stopping.stopped_at.has_value() == (skipping.skipped > 0), "what is skipped is what stops");
  require_same(front, stopping.stopped_at ? before(good, stopping.stopped_at->line) : good,
               "all good rows before the first bad one are there");

  const Outcome blocks = read_blocks(format, text, {1, BadRows::skip, block_size});
  require_same(blocks.examples, good, "blocks change no example");
  require(blocks.examples.line == good.line && blocks.skipped == skipping.skipped, "blocks change no line");

  const Outcome stopped = read_blocks(format, text, {1, BadRows::stop, block_size});
  require_same(stopped.examples, front, "an error comes behind the same example");
  require(stopped.error.empty() != stopping.stopped_at.has_value(), "and it comes");
  require(printable(stopped.error, stopped.error.size()) == stopped.error, "it is one line of text");
  return good;
}

}  // namespace ignd::fuzz
