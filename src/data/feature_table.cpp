#include "data/feature_table.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "data/table.hpp"
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

FeatureTable load_california_housing(const std::filesystem::path& path) {
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

  FeatureTable out;
  out.names = {"MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude"};
  out.numbers = out.names.size();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto row = table[i];
    const double homes = row[households];
    const std::array features{row[income],           row[age],      row[rooms] / homes,
                              row[bedrooms] / homes, row[people],   row[people] / homes,
                              row[latitude],         row[longitude]};
    constexpr double unit = 1e5;
    out.features.insert(out.features.end(), features.begin(), features.end());
    out.targets.push_back(row[value] / unit);
    bool finite = std::isfinite(out.targets.back());
    for (const double feature : features) finite = finite && std::isfinite(feature);
    if (!finite) fail(fmt::format("row {} has a value that is missing or not finite, or no household", i + 1));
  }
  return out;
}

namespace {

struct Grades {
  std::string column;
  std::vector<std::string> names;
};

const std::vector<std::string> number_columns{"carat", "depth", "table", "x", "y", "z"};
const std::vector<Grades> grade_columns{
    {"cut", {"Fair", "Good", "Very Good", "Premium", "Ideal"}},
    {"color", {"D", "E", "F", "G", "H", "I", "J"}},
    {"clarity", {"I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"}},
};

// Reads diamonds.csv, and tells what is wrong with it.
class DiamondReader {
 public:
  explicit DiamondReader(const std::filesystem::path& path) : path_(path), table_(read(path)) {}

  FeatureTable features() const {
    FeatureTable out;
    out.names = number_columns;
    out.numbers = number_columns.size();
    for (const Grades& grades : grade_columns) {
      for (const std::string& name : grades.names) out.names.push_back(grades.column + "=" + name);
    }
    const std::vector<std::size_t> numbers = find_all(number_columns);
    const std::vector<std::size_t> texts = find_all({"cut", "color", "clarity"});
    const std::size_t price = find("price", ColumnKind::number);
    for (std::size_t row = 0; row < table_.size(); ++row) {
      for (const std::size_t column : numbers) out.features.push_back(number(row, column));
      for (std::size_t k = 0; k < texts.size(); ++k) add_grade(row, texts[k], grade_columns[k], out.features);
      out.targets.push_back(number(row, price));
    }
    return out;
  }

 private:
  static Table read(const std::filesystem::path& path) {
    TableOptions options;
    options.dialect = {.delimiter = ',', .header = true};
    for (const Grades& grades : grade_columns) options.texts.push_back(grades.column);
    return Table::read_csv(path.string(), options);
  }

  std::vector<std::size_t> find_all(const std::vector<std::string>& names) const {
    std::vector<std::size_t> columns;
    for (const std::string& name : names) {
      const bool is_number = std::ranges::count(number_columns, name) > 0;
      columns.push_back(find(name, is_number ? ColumnKind::number : ColumnKind::text));
    }
    return columns;
  }

  std::size_t find(const std::string& name, ColumnKind kind) const {
    const auto& columns = table_.columns();
    const auto at = std::ranges::find(columns, name, &Column::name);
    if (at == columns.end()) fail(fmt::format("it has no column {}", name));
    if (at->kind != kind) fail(fmt::format("the column {} does not hold numbers", name));
    return static_cast<std::size_t>(at - columns.begin());
  }

  double number(std::size_t row, std::size_t column) const {
    const double value = table_[row][column];
    if (!std::isfinite(value)) fail(fmt::format("row {} has no {}", row + 1, table_.columns()[column].name));
    return value;
  }

  void add_grade(std::size_t row, std::size_t column, const Grades& grades, std::vector<double>& features) const {
    const double code = table_[row][column];
    bool known = false;
    for (const std::string& name : grades.names) {
      const bool is_this = code == static_cast<double>(text_code(name));
      features.push_back(is_this ? 1 : 0);
      known = known || is_this;
    }
    if (!known) fail(fmt::format("row {} has an unknown {}", row + 1, grades.column));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(fmt::format("{} is not the Diamonds data set: {}", quoted_path(path_), reason));
  }

  const std::filesystem::path& path_;
  Table table_;
};

}  // namespace

FeatureTable load_diamonds(const std::filesystem::path& path) { return DiamondReader(path).features(); }

}  // namespace ignd
