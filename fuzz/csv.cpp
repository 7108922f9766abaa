// Rows of comma-separated values: as a table, and as examples of a stream.
#include "data/csv_examples.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"
#include "require.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace {

using namespace ignd;
using fuzz::require;

std::optional<Table> parse(std::string_view text, unsigned threads, std::size_t block) {
  try {
    return Table::parse_csv(text, {.dialect = {}, .threads = threads, .block = block});
  } catch (const Error&) {
    return {};
  }
}

void require_same(const Table& a, const Table& b) {
  require(a.size() == b.size() && a.columns().size() == b.columns().size(), "blocks and threads change no row");
  for (std::size_t row = 0; row < a.size(); ++row) {
    for (std::size_t c = 0; c < a.columns().size(); ++c) {
      require(std::bit_cast<std::uint64_t>(a[row][c]) == std::bit_cast<std::uint64_t>(b[row][c]),
              "blocks and threads change no value");
    }
  }
}

void check_examples(std::string_view text, const std::string& target) {
  try {
    const CsvExampleParser parser(text, {.target = target, .weight = {}});
    ExampleBlock block;
    parser.parse(text, 1, BadRows::skip, block);
    require(block.index.size() == block.value.size(), "every feature has a value");
    require(block.size() == 0 || block.end.back() == block.index.size(), "every feature has an example");
  } catch (const Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t block = 1 + data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = parse(text, 1, std::size_t{1} << 18);
  const auto cut = parse(text, 2, block);
  require(whole.has_value() == cut.has_value(), "blocks change no verdict");
  if (!whole) return 0;
  require_same(*whole, *cut);
  check_examples(text, whole->columns()[0].name);
  return 0;
}
