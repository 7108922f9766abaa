#include "ignd/frame.hpp"

#include "base/text.hpp"
#include "data/table.hpp"
#include "ignd/ensemble.hpp"
#include "ignd/error.hpp"
#include "ignd/mlp.hpp"
#include "ignd/model_file.hpp"
#include "ignd/random.hpp"
#include "ignd/train.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Tables in memory, beside files with the same cells.
namespace ignd {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

using Texts = std::vector<std::string>;

class Dates final : public FrameColumn {
 public:
  explicit Dates(std::vector<double> seconds) : seconds_(std::move(seconds)) {}

  Kind kind() const override { return Kind::dates; }
  void read(std::size_t first, std::span<double> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = seconds_[first + i];
  }
  std::optional<std::string_view> text(std::size_t /*row*/) const override { return std::nullopt; }

 private:
  std::vector<double> seconds_;
};

std::shared_ptr<const FrameColumn> texts(Texts cells) { return std::make_shared<TextColumn>(std::move(cells)); }
std::shared_ptr<const FrameColumn> categories(Texts cells) {
  return std::make_shared<TextColumn>(std::move(cells), FrameColumn::Kind::categories);
}
std::shared_ptr<const FrameColumn> numbers(std::span<const double> cells) {
  return std::make_shared<NumberColumn<double>>(cells);
}

// A frame, and the text of a file with the same cells.
struct BothWays {
  Frame frame;
  std::vector<std::vector<double>> arrays;
  std::vector<Texts> cells;

  void add_texts(const std::string& name, Texts column) {
    frame.rows = column.size();
    frame.columns.emplace_back(name, texts(column));
    cells.push_back(std::move(column));
  }
  void add_numbers(const std::string& name, std::vector<double> column) {
    frame.rows = column.size();
    arrays.push_back(std::move(column));
    frame.columns.emplace_back(name, numbers(arrays.back()));
    Texts written;
    for (const double value : arrays.back()) written.push_back(std::isnan(value) ? "" : format_number(value));
    cells.push_back(std::move(written));
  }
  void add_dates(const std::string& name, const std::vector<double>& column) {
    frame.rows = column.size();
    frame.columns.emplace_back(name, std::make_shared<Dates>(column));
    Texts written;
    for (const double value : column) written.push_back(std::isnan(value) ? "" : date_text(value));
    cells.push_back(std::move(written));
  }

  std::string csv() const {
    Texts names;
    for (const auto& column : frame.columns) names.push_back(csv_quoted(column.first));
    std::string text = join(names, ",") + "\n";
    for (std::size_t row = 0; row < frame.rows; ++row) {
      Texts fields;
      for (const Texts& column : cells) fields.push_back(csv_quoted(column[row]));
      text += join(fields, ",") + "\n";
    }
    return text;
  }
};

void expect_equal(const Table& made, const Table& expected, const std::string& about) {
  ASSERT_EQ(made.size(), expected.size()) << about;
  ASSERT_EQ(made.columns().size(), expected.columns().size()) << about;
  for (std::size_t c = 0; c < made.columns().size(); ++c) {
    const Column& column = made.columns()[c];
    const Column& other = expected.columns()[c];
    EXPECT_EQ(column.name, other.name);
    EXPECT_EQ(column.kind, other.kind) << about << column.name;
    EXPECT_EQ(column.labels, other.labels) << about << column.name;
    EXPECT_EQ(column.format.spec(), other.format.spec()) << about << column.name;
    for (std::size_t row = 0; row < made.size(); ++row) {
      const double a = made[row][c], b = expected[row][c];
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << about << column.name << " row " << row;
    }
  }
}

// A cell of one of the ways in which files are written.
std::string random_cell(int way, RandomStream& stream) {
  const std::uint64_t number = stream.below(5000);
  if (stream.below(12) == 0) return stream.below(2) == 0 ? "" : "NA";
  switch (way) {
    case 0:
      return fmt::format("{}", static_cast<double>(number) / 8);
    case 1:
      return fmt::format("${},{:03}", number % 7 + 1, number % 1000);
    case 2:
      return fmt::format("{} %", number % 100);
    case 3:
      return fmt::format("{:02}.{:02}.20{:02}", number % 28 + 1, number % 12 + 1, number % 30);
    case 4:
      return fmt::format("{},{:02}", number % 50, number % 100);
    case 5:
      return fmt::format("town {}", number % 9);
    case 6:
      return number < 60 ? fmt::format("n{}", number) : fmt::format(" {} ", number);
    default:
      return fmt::format("2024-{:02}-{:02}", number % 12 + 1, number % 28 + 1);
  }
}

TEST(Frame, IsReadAsAFileWithItsCells) {
  RandomStream stream(1, "frames");
  for (int trial = 0; trial < 120; ++trial) {
    const std::size_t rows = 1 + stream.below(trial % 10 == 0 ? 3000 : 60);
    BothWays both;
    both.arrays.reserve(8);
    both.add_texts("first", Texts(rows, "text"));
    const auto columns = 1 + stream.below(5);
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::string name = fmt::format("c{}", c);
      const auto way = static_cast<int>(stream.below(10));
      std::vector<double> values;
      Texts cells;
      for (std::size_t row = 0; row < rows; ++row) {
        values.push_back(stream.below(9) == 0 ? missing : std::floor(1e9 * stream.normal()));
        cells.push_back(random_cell(way, stream));
      }
      if (way == 9) {
        both.add_dates(name, values);
      } else if (way == 8) {
        for (double& value : values) value /= 1024;
        both.add_numbers(name, std::move(values));
      } else {
        both.add_texts(name, std::move(cells));
      }
    }
    TableOptions options;
    options.dialect = {.delimiter = ',', .header = true};
    expect_equal(Table::of_frame(both.frame, options), Table::parse_csv(both.csv(), options),
                 fmt::format("trial {} ", trial));
  }
}

TEST(Frame, GivenFormatsAndTextsAreThoseOfFiles) {
  BothWays both;
  both.arrays.reserve(2);
  both.add_numbers("code", {12, 7.5, missing});
  both.add_texts("price", {"1", "2", "3"});
  both.add_numbers("plain", {1, 2, 3});
  TableOptions options;
  options.dialect = {.delimiter = ',', .header = true};
  options.texts = {"code"};
  options.formats["price"] = {};
  options.formats["plain"] = {};
  const Table table = Table::of_frame(both.frame, options);
  expect_equal(table, Table::parse_csv(both.csv(), options), "");
  EXPECT_EQ(table.columns()[0].kind, ColumnKind::text);
  EXPECT_EQ(table[1][0], static_cast<double>(text_code("7.5")));
}

TEST(Frame, CategoriesMeanThemselves) {
  Frame frame{.rows = 4, .columns = {{"c", categories({"NA", "12", " 12", ""})}}};
  const Table table = Table::of_frame(frame, {});
  EXPECT_EQ(table.columns()[0].kind, ColumnKind::text);
  EXPECT_EQ(table.columns()[0].labels.size(), 4);
  for (std::size_t row = 0; row < 4; ++row) EXPECT_FALSE(std::isnan(table[row][0]));
}

TEST(Frame, ARowThatDoesNotFitIsBad) {
  const std::vector<double> plain{1, 2, 3};
  const Frame frame{.rows = 3, .columns = {{"x", texts({"1", "two", "3"})}, {"y", numbers(plain)}}};
  TableOptions options;
  options.formats["x"] = {};
  try {
    Table::of_frame(frame, options);
    FAIL();
  } catch (const BadSample& fault) {
    EXPECT_STREQ(fault.what(), "row 2: column 'x' is 'two', not a number; --bad-rows skip ignores such rows");
  }
  options.skip_bad_rows = true;
  const Table table = Table::of_frame(frame, options);
  EXPECT_EQ(table.bad_rows(), std::vector<std::size_t>{1});
  EXPECT_TRUE(std::isnan(table[1][1]));
  EXPECT_EQ(table[2][1], 3);
}

TEST(Frame, WithoutRowsOrWithBadNamesIsRefused) {
  const auto fault_of = [](const Frame& frame) -> std::string {
    try {
      Table::of_frame(frame, {});
      return "";
    } catch (const InvalidArgument& fault) {
      return fault.what();
    }
  };
  EXPECT_EQ(fault_of({}), "the table has no columns; the table has no rows");
  EXPECT_EQ(fault_of({.rows = 1, .columns = {{"a", texts({"1"})}, {"a", texts({"1"})}}}), "there are two columns 'a'");
  EXPECT_EQ(fault_of({.rows = 1, .columns = {{"", texts({"1"})}}}), "a column has no name");
}

// y = 2 x + 1, by rows of which the last ones are told apart by their targets.
struct Line {
  std::vector<double> x, y;
  Frame frame;
  explicit Line(std::size_t rows) {
    RandomStream stream(3, "line");
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(stream.normal());
      y.push_back(2 * x.back() + 1);
    }
    frame = {.rows = rows, .columns = {{"x", numbers(x)}, {"y", numbers(y)}}};
  }
};

TEST(Frame, TrainsAndPredicts) {
  const Line line(400);
  const Trained trained =
      train(line.frame, {{"target", "y"}, {"model", "linear"}, {"lr", "0.1"}, {"optimizer", "ignd"}});
  EXPECT_GT(trained.report.test.at("r2"), 0.999);
  const Predictions made = trained.model.predict_frame(line.frame);
  ASSERT_EQ(made.values.size(), 400);
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    const Prediction one = trained.model.predict({{"x", format_number(line.x[i])}});
    ASSERT_EQ(made.values[i], one.value);
  }
  EXPECT_TRUE(made.probabilities.empty());
  const ModelFile again = ModelFile::from_bytes(trained.model.to_bytes());
  EXPECT_EQ(again.predict_frame(line.frame).values, made.values);
  EXPECT_EQ(again.to_bytes(), trained.model.to_bytes());
}

TEST(Frame, TheLastRowsCanBeTheValidationRows) {
  Line line(300);
  for (std::size_t i = 200; i < 300; ++i) line.y[i] = 1000;
  const Trained trained =
      train(line.frame, {{"target", "y"}, {"model", "linear"}, {"lr", "0.1"}, {"epochs", "2"}, {"optimizer", "ignd"}},
            {}, 100);
  // No row of a target of 1000 was learned from.
  EXPECT_LT(trained.model.predict_frame(line.frame).values[0], 20);
  EXPECT_GT(trained.report.validation.at("rmse"), 900);
  EXPECT_TRUE(trained.report.test.empty());
  EXPECT_THROW(train(line.frame, {{"target", "y"}}, {}, 300), InvalidArgument);
  EXPECT_THROW(train(line.frame, {{"target", "y"}, {"test", "0.2"}}, {}, 100), InvalidArgument);
  EXPECT_THROW(train(line.frame, {{"target", "y"}, {"delimiter", "tab"}}), InvalidArgument);
}

TEST(Frame, BeginsWithTheNetworksThatTrainWouldTrain) {
  const Line line(600);
  EXPECT_EQ(begin_training(line.frame, {{"target", "y"}}).networks.size(), 8);
  const Untrained one = begin_training(line.frame, {{"target", "y"}, {"model", "mlp:4"}, {"seed", "3"}});
  ASSERT_EQ(one.networks.size(), 1);
  EXPECT_EQ(one.batch, 0);
  const Trained trained = train(line.frame, {{"target", "y"},
                                             {"model", "mlp:4"},
                                             {"seed", "3"},
                                             {"epochs", "0"},
                                             {"lr", "1"},
                                             {"validation", "0"},
                                             {"test", "0"}});
  EXPECT_EQ(one.model.to_bytes(), trained.model.to_bytes());

  const Untrained several =
      begin_training(line.frame, {{"target", "y"}, {"model", "mlp:4"}, {"seed", "3"}, {"ensemble", "3"}});
  ASSERT_EQ(several.networks.size(), 3);
  EXPECT_GE(several.batch, 16);
  std::vector<double> sum(line.frame.rows);
  std::set<double> first;
  for (const auto& network : several.networks) {
    const Predictions made = several.model.with_model(*network).predict_frame(line.frame);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += made.values[i];
    first.insert(made.values[0]);
  }
  EXPECT_EQ(first.size(), 3) << "networks start at different weights";
  const std::vector<double> shares(3, 1.0 / 3);
  const auto blended = blend<float>(several.networks, shares);
  const Predictions made = several.model.with_model(*blended).predict_frame(line.frame);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(made.values[i], sum[i] / 3, 1e-4);

  EXPECT_THROW(begin_training(line.frame, {{"target", "y"}, {"fast", "true"}, {"ensemble", "2"}}), InvalidArgument);
}

TEST(Frame, ADifferentModelMustReadAndGiveTheSame) {
  const Line line(50);
  const Untrained begun = begin_training(line.frame, {{"target", "y"}, {"model", "linear"}});
  const std::size_t features = begun.model.encode_frame(line.frame).features;
  EXPECT_EQ(begun.model.with_model(Mlp<float>({features, 3})).spec(), Mlp<float>({features, 3}).spec());
  EXPECT_THROW(begun.model.with_model(Mlp<float>({features + 1, 3})), InvalidArgument);
  EXPECT_THROW(begun.model.with_model(Mlp<float>({features, 3}, {.outputs = 2})), InvalidArgument);
}

TEST(Frame, TrainOptionsAreThoseOfTheKeyTable) {
  std::set<std::string> names;
  for (const TrainOption& option : train_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
  }
  for (const char* name : {"target", "epochs", "optimizer", "lr", "seed", "batch", "text"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_FALSE(names.contains("points"));  // of studies alone
}

}  // namespace
}  // namespace ignd
