// Reads files of sparse examples into a table, where they have few enough features for one.
#include "base/text.hpp"
#include "data/example_reader.hpp"
#include "data/table.hpp"
#include "data/text_window.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::uint32_t most_features = 2000;

}  // namespace

Table Table::read(const std::string& path, const TableOptions& options) {
  std::error_code unknown;                                                               // then opening it says more
  if (!std::filesystem::is_regular_file(path, unknown)) return read_csv(path, options);  // it can be read once only
  constexpr std::size_t enough = std::size_t{1} << 16;
  TextWindow beginning(open_bytes(path));
  beginning.fill(enough);
  const bool sparse = guess_example_format(beginning.text()) == ExampleFormat::svmlight;
  return sparse ? read_svmlight(path, options) : read_csv(path, options);
}

Table Table::read_svmlight(const std::string& path, const TableOptions& options) {
  const auto for_each_block = [&](const auto& visit) {
    ExampleReader reader(path, ExampleFormat::svmlight, {.threads = options.threads});
    ExampleBlock block;
    while (reader.next(block)) visit(block);
  };
  // Once to see how many features there are, once to read them: the rows of a table have one width.
  std::error_code unknown;
  if (path == "-" || std::filesystem::is_fifo(path, unknown)) {
    throw FileError("svmlight from a pipe: use a file, which can be read twice, or --stream");
  }
  std::uint32_t width = 0;
  std::size_t rows = 0;
  for_each_block([&](const ExampleBlock& block) {
    rows += block.size();
    for (const std::uint32_t index : block.index) {
      if (index <= most_features) {
        width = std::max(width, index);
        continue;
      }
      throw FileError(fmt::format("{} has a feature {}; a table may have up to {}, use --stream", quoted_path(path),
                                  index, most_features));
    }
  });
  if (rows == 0) throw FileError(fmt::format("{} is empty", quoted_path(path)));

  std::vector<Column> columns{{.name = "label", .kind = ColumnKind::number, .labels = {}}};
  for (std::uint32_t i = 0; i <= width; ++i) columns.push_back({.name = std::to_string(i), .labels = {}});
  RowStore store(columns.size(), options.memory);
  std::vector<double> row(columns.size());
  for_each_block([&](const ExampleBlock& block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::ranges::fill(row, 0.0);
      row[0] = block.target[i];
      const auto index = block.indices(i);
      for (std::size_t k = 0; k < index.size(); ++k) row[1 + index[k]] += static_cast<double>(block.values(i)[k]);
      store.append(row);
    }
  });
  return {std::move(columns), std::move(store), {}};
}

}  // namespace ignd
