#include "data/california_housing.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// The columns of the file, which has no header.
enum Raw { longitude, latitude, age, rooms, bedrooms, people, households, income, value, raw_columns };

std::string data_of(const std::filesystem::path& path) {
  constexpr std::string_view member = "CaliforniaHousing/cal_housing.data";
  std::string text;
  bool found = false;
  visit_members(
      path, path.filename().string(), [&](std::string_view name) { return name == member; },
      [&](const std::string&, std::string_view content) {
        text = content;
        found = true;
      });
  if (!found) throw FileError(fmt::format("{} holds no {}", quoted_path(path), member));
  return text;
}

}  // namespace

Table read_california_housing(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& reason) {
    throw FileError(fmt::format("{} is not California Housing: {}", quoted_path(path), reason));
  };
  TableOptions options;
  options.dialect = {.delimiter = ',', .header = false};
  const Table table = Table::parse_csv(data_of(path), options);
  if (table.columns().size() != raw_columns) {
    fail(fmt::format("it has {} columns, not {}", table.columns().size(), static_cast<int>(raw_columns)));
  }
  for (const Column& column : table.columns()) {
    if (column.kind != ColumnKind::number) fail("a value is not a number");
  }
  std::vector<double> rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    constexpr double unit = 1e5;
    const auto row = table[i];
    const double homes = row[households];
    const std::array derived{row[income],         row[age],      row[rooms] / homes, row[bedrooms] / homes, row[people],
                             row[people] / homes, row[latitude], row[longitude],     row[value] / unit};
    if (!std::ranges::all_of(derived, [](double number) { return std::isfinite(number); })) {
      fail(fmt::format("row {} has a value that is missing or not finite, or no household", i + 1));
    }
    rows.insert(rows.end(), derived.begin(), derived.end());
  }
  return Table::of_numbers(
      {"MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude", "MedHouseVal"},
      rows);
}

}  // namespace ignd
