#include "data/encoder.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using Form = ColumnCode::Form;
using Features = std::vector<float>;

Table table_of(const std::string& text) {
  return Table::parse_csv(text, {.dialect = {.delimiter = ',', .header = true}});
}

// A table of one column and a second that makes its blank lines rows.
Table column_of(const std::vector<std::string>& values) {
  std::string text = "x,row\n";
  for (std::size_t r = 0; r < values.size(); ++r) text += fmt::format("{},{}\n", values[r], r);
  return table_of(text);
}

std::vector<std::uint32_t> first_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

Encoder fit_all(const Table& table, bool use_ids = false) {
  std::vector<std::size_t> columns(table.columns().size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return Encoder::fit(table, columns, first_rows(table.size()), {.use_ids = use_ids});
}

// Of the column x only.
Encoder fit_column(const Table& table, bool use_ids = false) {
  return Encoder::fit(table, std::vector<std::size_t>{0}, first_rows(table.size()), {.use_ids = use_ids});
}

Features encode(const Encoder& encoder, const Table& table, std::size_t row, std::size_t* unknown = nullptr) {
  // The room behind the features must stay as it is.
  constexpr float untouched = -77;
  Features out(encoder.features() + 1, untouched);
  const std::size_t count = encoder.encode(table[row], encoder.match(table), std::span(out).first(encoder.features()));
  if (unknown != nullptr) *unknown = count;
  EXPECT_EQ(out.back(), untouched);
  out.pop_back();
  return out;
}

std::string match_fault(const Encoder& encoder, const Table& table) {
  try {
    encoder.match(table);
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
  return "none";
}

TEST(Encoder, StandardizesLikeALongComputation) {
  RandomStream stream(1, "encoder");
  for (const double offset : {0.0, 3.0, -1e9, 1e9, 1e15}) {
    for (const double scale : {1e-3, 1.0, 1e6}) {
      std::vector<double> values;
      std::vector<std::string> cells;
      for (int r = 0; r < 500; ++r) {
        cells.push_back(fmt::format("{}", offset + scale * stream.normal()));
        values.push_back(std::stod(cells.back()));
      }
      long double mean = 0;
      for (const double x : values) mean += static_cast<long double>(x) / 500;
      long double variance = 0;
      for (const double x : values) variance += (x - mean) * (x - mean) / 500;
      const Table table = column_of(cells);
      const Encoder encoder = fit_column(table);
      if (encoder.columns()[0].form == Form::dropped) {
        EXPECT_EQ(variance, 0);
        continue;
      }
      for (std::size_t r = 0; r < values.size(); ++r) {
        const long double expected = std::clamp((values[r] - mean) / std::sqrt(variance), -6.0L, 6.0L);
        // The mean is a double: of a large offset with a small spread its last bit is seen.
        const long double rounding = 8 * std::abs(mean) * 2.3e-16L / std::sqrt(variance);
        const long double error = std::abs(encode(encoder, table, r)[0] - expected);
        EXPECT_LT(error, 1e-6L + rounding) << offset << ' ' << scale;
      }
    }
  }
}

TEST(Encoder, ASmallSpreadOfLargeNumbersIsKept) {
  const Table table = column_of({"1000000000.001", "1000000000.003", "1000000000.001", "1000000000.003"});
  const Encoder encoder = fit_column(table);
  EXPECT_NEAR(encode(encoder, table, 0)[0], -1, 1e-3);
  EXPECT_NEAR(encode(encoder, table, 1)[0], 1, 1e-3);
}

TEST(Encoder, NumbersAtTheEndsOfTheRangeAreScaled) {
  for (const std::string size : {"1e308", "1.7e308", "1e-200", "1e-300", "1e160"}) {
    const Table table = column_of({size, "-" + size});
    const Encoder encoder = fit_column(table);
    ASSERT_EQ(encoder.columns()[0].form, Form::scaled) << size;
    EXPECT_EQ(encode(encoder, table, 0), (Features{1})) << size;
    EXPECT_EQ(encode(encoder, table, 1), (Features{-1})) << size;
  }
}

TEST(Encoder, LooksAtTheTrainingRowsOnly) {
  const Table table = column_of({"1", "3", "1000", "", "-7"});
  const Encoder encoder = Encoder::fit(table, std::vector<std::size_t>{0}, first_rows(2));
  EXPECT_EQ(encoder.columns()[0].mean, 2);
  EXPECT_EQ(encoder.columns()[0].deviation, 1);
  EXPECT_EQ(encoder.columns()[0].missing, 0U);
  EXPECT_EQ(encoder.features(), 1U);
  const Table texts = column_of({"a", "b", "c", "d"});
  const Encoder of_texts = Encoder::fit(texts, std::vector<std::size_t>{0}, std::vector<std::uint32_t>{3, 1});
  EXPECT_EQ(of_texts.columns()[0].levels, (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(of_texts.columns()[0].distinct, 2U);
}

TEST(Encoder, FarOutliersAreCutOff) {
  const Table training = column_of({"-1", "1"});
  const Encoder encoder = fit_column(training);
  const Table table = column_of({"5.5", "6.5", "-1e300", "1e308"});
  EXPECT_EQ(encode(encoder, table, 0)[0], 5.5F);
  EXPECT_EQ(encode(encoder, table, 1)[0], Encoder::farthest);
  EXPECT_EQ(encode(encoder, table, 2)[0], -Encoder::farthest);
  EXPECT_EQ(encode(encoder, table, 3)[0], Encoder::farthest);
}

TEST(Encoder, AColumnThatNeverChangesIsDropped) {
  for (const std::vector<std::string>& values :
       {std::vector<std::string>{"5", "5"}, {"a", "a"}, {"", ""}, {"inf", ""}, {"7"}}) {
    const Encoder encoder = fit_column(column_of(values));
    EXPECT_EQ(encoder.columns()[0].form, Form::dropped) << values[0];
    EXPECT_EQ(encoder.features(), 0U) << values[0];
  }
}

TEST(Encoder, MissingAndInfiniteValuesAreZeroWithAFlag) {
  const Table table = column_of({"1", "3", "", "inf", "-inf", "NA"});
  const Encoder encoder = fit_column(table);
  EXPECT_EQ(encoder.columns()[0].missing, 4U);
  EXPECT_EQ(encode(encoder, table, 0), (Features{-1, 0}));
  EXPECT_EQ(encode(encoder, table, 1), (Features{1, 0}));
  for (std::size_t r = 2; r < 6; ++r) EXPECT_EQ(encode(encoder, table, r), (Features{0, 1}));
}

TEST(Encoder, MissingWhereTrainingHadNoneIsTheMean) {
  const Encoder encoder = fit_column(column_of({"1", "3"}));
  const Table table = column_of({"", "inf"});
  EXPECT_EQ(encode(encoder, table, 0), (Features{0}));
  EXPECT_EQ(encode(encoder, table, 1), (Features{0}));
}

TEST(Encoder, AConstantThatIsSometimesMissingIsAFlag) {
  const Encoder encoder = fit_column(column_of({"5", "", "5"}));
  const Table table = column_of({"5", "", "1e9"});
  EXPECT_EQ(encode(encoder, table, 0), (Features{0}));
  EXPECT_EQ(encode(encoder, table, 1), (Features{1}));
  EXPECT_EQ(encode(encoder, table, 2), (Features{0}));  // no weight has learned what another value means
}

TEST(Encoder, FewTextsAreOneHot) {
  const Table table = column_of({"b", "a", "", "b"});
  const Encoder encoder = fit_column(table);
  EXPECT_EQ(encoder.columns()[0].form, Form::one_hot);
  EXPECT_EQ(encode(encoder, table, 0), (Features{0, 1, 0}));
  EXPECT_EQ(encode(encoder, table, 1), (Features{1, 0, 0}));
  EXPECT_EQ(encode(encoder, table, 2), (Features{0, 0, 1}));
}

TEST(Encoder, ATextThatTrainingDidNotHaveIsNoneOfThem) {
  const Encoder encoder = fit_column(column_of({"a", "b"}));
  const Table table = column_of({"c", "a", "A", ""});
  std::size_t unknown = 0;
  EXPECT_EQ(encode(encoder, table, 0, &unknown), (Features{0, 0}));
  EXPECT_EQ(unknown, 1U);
  EXPECT_EQ(encode(encoder, table, 1, &unknown), (Features{1, 0}));
  EXPECT_EQ(unknown, 0U);
  EXPECT_EQ(encode(encoder, table, 2, &unknown), (Features{0, 0}));
  EXPECT_EQ(unknown, 1U);
  EXPECT_EQ(encode(encoder, table, 3, &unknown), (Features{0, 0}));
  EXPECT_EQ(unknown, 0U);  // missing is not unknown
}

TEST(Encoder, ManyTextsShareFeatures) {
  for (const std::size_t different : {EncoderOptions().levels, EncoderOptions().levels + 1}) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < different; ++i) values.push_back(fmt::format("t{}", i));
    const Table table = column_of(values);
    const Encoder encoder = fit_column(table);
    EXPECT_EQ(encoder.columns()[0].form, different > EncoderOptions().levels ? Form::hashed : Form::one_hot);
    EXPECT_EQ(encoder.columns()[0].distinct, different);
    std::size_t used = 0;
    Features sum(encoder.features());
    for (std::size_t r = 0; r < different; ++r) {
      const Features x = encode(encoder, table, r);
      EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0.0F), 1);
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
    }
    for (const float count : sum) used += count > 0 ? 1 : 0;
    EXPECT_GT(used, Encoder::hash_features / 2);
  }
}

TEST(Encoder, MoreTextsThanAreNamedAreHashed) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < most_labels + 1; ++i) values.push_back(fmt::format("t{}", i));
  const Table table = column_of(values);
  const Encoder encoder = Encoder::fit(table, std::vector<std::size_t>{0}, first_rows(3));
  EXPECT_EQ(encoder.columns()[0].form, Form::hashed);
  EXPECT_EQ(encoder.columns()[0].distinct, 3U);
}

TEST(Encoder, NumbersWhereThereWereTextsAreTexts) {
  std::size_t unknown = 0;
  const Table numbers = column_of({"1", "2", "-5", "1e300", "0.5", ""});
  ASSERT_EQ(numbers.columns()[0].kind, ColumnKind::number);
  const Encoder letters = fit_column(column_of({"a", "b", ""}));
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(encode(letters, numbers, r, &unknown), (Features{0, 0, 0}));
    EXPECT_EQ(unknown, 1U);
  }
  EXPECT_EQ(encode(letters, numbers, 5, &unknown), (Features{0, 0, 1}));
  EXPECT_EQ(unknown, 0U);

  const Encoder mixed = fit_column(column_of({"1", "a", "0.5"}));
  EXPECT_EQ(encode(mixed, numbers, 0, &unknown), (Features{0, 1, 0}));
  EXPECT_EQ(unknown, 0U);
  EXPECT_EQ(encode(mixed, numbers, 4, &unknown), (Features{1, 0, 0}));
}

TEST(Encoder, HashedNumbersAreHashedAsTheTextsTheyWere) {
  std::vector<std::string> values{"1", "-5", "0.5"};
  for (std::size_t i = 0; i < 100; ++i) values.push_back(fmt::format("t{}", i));
  const Table texts = column_of(values);
  const Encoder encoder = fit_column(texts, true);
  ASSERT_EQ(encoder.columns()[0].form, Form::hashed);
  const Table numbers = column_of({"1", "-5", "0.5"});
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(encode(encoder, numbers, r), encode(encoder, texts, r));
}

TEST(Encoder, TextColumnsReadAsTextsAreTheSameAloneAndInCompany) {
  const Table training = column_of({"01", "1.0", "x"});
  const Encoder encoder = fit_column(training);
  EXPECT_EQ(encoder.text_columns(), (std::vector<std::string>{"x"}));
  const Table alone = Table::parse_csv("x,row\n01,0\n1.0,1\n", {.dialect = {}, .texts = encoder.text_columns()});
  for (std::size_t r = 0; r < 2; ++r) EXPECT_EQ(encode(encoder, alone, r), encode(encoder, training, r));
}

TEST(Encoder, ColumnsAreFoundByName) {
  const Table training = table_of("a,b,c\n1,x,7\n3,y,7\n");
  const Encoder encoder = fit_all(training);
  const Table other = table_of("new,b,a\nz,y,1\nz,x,3\n");  // c was dropped: nobody needs it
  EXPECT_EQ(encode(encoder, other, 0), (Features{-1, 0, 1}));
  EXPECT_EQ(encode(encoder, other, 1), (Features{1, 1, 0}));
}

TEST(Encoder, ColumnsThatAreNotThereAreAllNamed) {
  const Encoder encoder = fit_all(table_of("a,b,c,d\n1,x,2,3\n3,y,3,4\n"));
  EXPECT_EQ(match_fault(encoder, table_of("b,c,x\ny,oops,1\nx,1,1\n")),
            "the column 'a' is missing; the column 'c' holds texts, but held numbers in training; the column 'd' is "
            "missing");
}

TEST(Encoder, ComesBackFromACheckpointBitByBit) {
  std::string text = "n,constant,sometimes,few,many,day,cost,\"odd \"\"name\"\"\"\n";
  RandomStream stream(2, "encoder");
  for (int r = 0; r < 300; ++r) {
    text += fmt::format("{},5,{},{},t{},{}.{}.20{} 1{}:00,${}.50,\"l\n{}\"\n", stream.normal() * 1e7,
                        r % 3 == 0 ? "" : "1", "abc"[r % 3], r, 1 + r % 28, 1 + r % 12, 10 + r % 5, r % 9, r, r % 2);
  }
  const Table table = table_of(text);
  const Encoder encoder = fit_all(table, true);
  Checkpoint checkpoint;
  encoder.save(checkpoint);
  const Encoder loaded = Encoder::load(checkpoint);
  ASSERT_EQ(loaded.features(), encoder.features());
  for (std::size_t c = 0; c < encoder.columns().size(); ++c) {
    const ColumnCode& was = encoder.columns()[c];
    const ColumnCode& is = loaded.columns()[c];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.kind, was.kind);
    EXPECT_EQ(is.form, was.form);
    EXPECT_EQ(is.missing, was.missing);
    EXPECT_EQ(is.mean, was.mean);
    EXPECT_EQ(is.deviation, was.deviation);
    EXPECT_EQ(is.levels, was.levels);
    EXPECT_EQ(is.distinct, was.distinct);
    EXPECT_EQ(is.format.spec(), was.format.spec());
  }
  EXPECT_EQ(encoder.columns()[5].form, Form::date);
  EXPECT_EQ(loaded.columns()[5].calendar.last, encoder.columns()[5].calendar.last);
  EXPECT_EQ(loaded.formats().size(), 2U);
  for (std::size_t r = 0; r < table.size(); ++r) EXPECT_EQ(encode(loaded, table, r), encode(encoder, table, r));
  Checkpoint again;
  loaded.save(again);
  EXPECT_EQ(again.entries(), checkpoint.entries());
}

TEST(Encoder, ACheckpointThatCannotBeUsedIsRefused) {
  const auto broken = [](auto change) {
    Checkpoint checkpoint;
    fit_all(table_of("a,b\n1,x\n3,y\n")).save(checkpoint);
    change(checkpoint);
    EXPECT_THROW(Encoder::load(checkpoint), FileError);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto set_scale = [](Checkpoint& to, double mean, double deviation) {
    const double scale[] = {mean, deviation};
    to.set("column.0.scale", std::span<const double>(scale));
  };
  broken([](Checkpoint& c) { c.set("columns", std::uint64_t{1} << 60); });
  broken([](Checkpoint& c) { c.set("column.0.form", std::string("round")); });
  broken([](Checkpoint& c) { c.set("column.0.kind", std::string("colour")); });
  broken([](Checkpoint& c) { c.set("column.0.form", std::string("hashed")); });
  broken([](Checkpoint& c) { c.set("column.1.form", std::string("scaled")); });
  broken([&](Checkpoint& c) { set_scale(c, 0, -1); });
  broken([&](Checkpoint& c) { set_scale(c, 0, nan); });
  broken([&](Checkpoint& c) { set_scale(c, nan, 1); });
  broken([](Checkpoint& c) {
    const std::uint64_t counts[] = {0, 2, std::uint64_t{1} << 60};
    c.set("column.1.counts", std::span<const std::uint64_t>(counts));
  });
  EXPECT_THROW(Encoder::load(Checkpoint()), FileError);
}

TEST(Encoder, NoFeatureIsEverInfiniteOrNaN) {
  RandomStream stream(3, "encoder");
  const std::vector<std::string> odd{"",       "inf",    "-inf",   "nan",  "0",   "-0", "1e308",
                                     "-1e308", "1e-320", "5e-324", "1e15", "123", "1",  "1.7976931348623157e308"};
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::string> training(1 + stream.below(6));
    for (std::string& value : training) value = odd[stream.below(odd.size())];
    const Encoder encoder = fit_column(column_of(training));
    const Table table = column_of(odd);
    for (std::size_t r = 0; r < table.size(); ++r) {
      for (const float x : encode(encoder, table, r)) {
        EXPECT_TRUE(std::abs(x) <= Encoder::farthest) << fmt::format("{}", fmt::join(training, " ")) << ": " << odd[r];
      }
    }
  }
}

// One value far out must not make all others look the same.
TEST(Encoder, AFewValuesFarOutDoNotStretchTheScale) {
  RandomStream stream(23, "encoder");
  std::string text = "x\n";
  constexpr int rows = 2000;
  for (int i = 0; i < rows; ++i) text += fmt::format("{}\n", i % 500 == 0 ? 1e6 : 100 + 10 * stream.normal());
  const Table table = Table::parse_csv(text, {});
  std::vector<std::uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<std::size_t> columns{0};
  const Encoder encoder = Encoder::fit(table, columns, all);
  EXPECT_NEAR(encoder.columns()[0].mean, 100, 2);
  EXPECT_NEAR(encoder.columns()[0].deviation, 10, 2);
  std::vector<float> x(1);
  encoder.encode(table[0], encoder.match(table), x);
  EXPECT_EQ(x[0], static_cast<float>(Encoder::farthest));
}

// The features of each value of a column that has them all in its training rows.
std::vector<float> features_of(const std::vector<double>& column, const std::vector<double>& values) {
  std::vector<std::string> cells(column.size());
  std::ranges::transform(column, cells.begin(), [](double x) { return fmt::format("{}", x); });
  const Encoder encoder = fit_column(column_of(cells));
  EXPECT_EQ(encoder.columns()[0].form, Form::scaled);
  EXPECT_GT(encoder.columns()[0].deviation, 0);
  EXPECT_TRUE(std::isfinite(encoder.columns()[0].deviation));
  cells.clear();
  for (const double x : values) cells.push_back(fmt::format("{}", x));
  const Table table = column_of(cells);
  std::vector<float> features;
  for (std::size_t r = 0; r < values.size(); ++r) features.push_back(encode(encoder, table, r)[0]);
  return features;
}

constexpr double rare_shares[] = {0.1, 0.05, 0.03, 0.024, 0.02, 0.01, 0.001, 1e-4};

TEST(Encoder, ARareIndicatorStaysVisible) {
  constexpr std::size_t rows = 10'000;
  for (const double share : rare_shares) {
    for (const auto& [common, rare] : {std::pair(0.0, 1.0), std::pair(1.0, 0.0), std::pair(-3.5, 1e6),
                                       std::pair(1e-200, 3e-200), std::pair(1e9, 1e9 + 1), std::pair(-1e300, 1e300)}) {
      std::vector<double> column(rows, common);
      const auto every = static_cast<std::size_t>(1 / share);
      for (std::size_t r = 0; r < rows; r += every) column[r] = rare;
      const auto x = features_of(column, {common, rare});
      EXPECT_LE(std::abs(x[0]), 1) << share << ' ' << common;
      EXPECT_GE(std::abs(x[1] - x[0]), 2.9) << share << ' ' << common;
      EXPECT_LE(std::abs(x[1]), Encoder::farthest) << share << ' ' << common;
    }
  }
}

TEST(Encoder, RareValuesKeepTheirDifferences) {
  // Nine of ten rare values are 1 to 9, and the others lie far out: these are cut off, and nothing else is.
  std::vector<double> column(100'000, 0.0);
  std::vector<double> values{0};
  for (std::size_t i = 0; i < 1000; ++i)
    column[100 * i] = i % 10 == 0 ? (i == 0 ? 1e12 : 5) : static_cast<double>(i % 10);
  for (int v = 1; v <= 9; ++v) values.push_back(v);
  values.push_back(1e12);
  const auto x = features_of(column, values);
  EXPECT_EQ(x[0], 0);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_GE(x[i] - x[i - 1], 0.3) << i;
  EXPECT_EQ(x.back(), static_cast<float>(Encoder::farthest));
}

TEST(Encoder, EveryColumnThatVariesKeepsItsRareValues) {
  RandomStream stream(41, "encoder");
  const auto tail = [&] { return std::exp(4 * stream.normal()); };
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t rows = 2 + stream.below(2000);
    const double share = rare_shares[stream.below(std::size(rare_shares))];
    const double unit = std::pow(10.0, static_cast<double>(stream.below(200)) - 100);
    const double offset = stream.below(2) == 0 ? 0 : std::round(1000 * stream.normal());
    const std::size_t kind = stream.below(5);
    const auto rare_value = [&]() -> double {
      if (kind == 0) return 1;
      if (kind == 1) return 1 + static_cast<double>(stream.below(20));
      if (kind == 2) return tail();
      if (kind == 3) return stream.below(2) == 0 ? tail() : -tail();
      return stream.below(10) == 0 ? 999'999 : 1;
    };
    std::vector<double> column(rows);
    for (double& x : column) x = (offset + (stream.uniform() < share ? rare_value() : 0)) * unit;
    column[stream.below(rows)] = (offset + rare_value()) * unit;
    const double common = offset * unit;
    std::vector<double> others{common};
    for (const double x : column) {
      if (x != common) others.push_back(x);
    }
    if (others.size() == rows + 1) continue;  // no row has the common value
    const auto x = features_of(column, others);
    for (std::size_t i = 1; i < x.size(); ++i) {
      EXPECT_NE(x[i], x[0]) << "trial " << trial << ", kind " << kind << ": " << others[i] << " and " << common;
      EXPECT_LE(std::abs(x[i]), Encoder::farthest);
    }
  }
}

TEST(Encoder, TheUnitAndTheOriginOfAColumnDoNotMatter) {
  RandomStream stream(42, "encoder");
  for (const double share : {1.0, 0.3, 0.02, 0.005}) {
    std::vector<double> column(2000, 0.0);
    for (double& x : column) x = stream.uniform() < share ? std::round(100 * std::exp(2 * stream.normal())) : 0;
    column[7] = 300;
    const std::vector<double> values{0, 1, 300, 5000};
    const auto x = features_of(column, values);
    const auto changed = [&](auto change) {
      std::vector<double> other = column;
      std::vector<double> other_values = values;
      for (double& v : other) v = change(v);
      for (double& v : other_values) v = change(v);
      return features_of(other, other_values);
    };
    EXPECT_EQ(changed([](double v) { return std::ldexp(v, 300); }), x) << share;
    EXPECT_EQ(changed([](double v) { return std::ldexp(v, -300); }), x) << share;
    const auto shifted = changed([](double v) { return v + (1 << 20); });
    const auto mirrored = changed([](double v) { return -v; });
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(shifted[i], x[i], 1e-6) << share;  // the mean of larger numbers, rounded
      EXPECT_EQ(mirrored[i], -x[i]) << share;
    }
  }
}

TEST(Encoder, SaysWhyAColumnIsDropped) {
  const Table table = table_of("a,b,c,d,e\n5,x,,inf,1\n5,x,,inf,2\n");
  const Encoder fitted = fit_all(table);
  Checkpoint checkpoint;
  fitted.save(checkpoint);
  using Reason = ColumnCode::DropReason;
  for (const Encoder& encoder : {fitted, Encoder::load(checkpoint)}) {
    EXPECT_EQ(encoder.columns()[0].reason, Reason::constant);
    EXPECT_EQ(encoder.columns()[1].reason, Reason::constant);
    EXPECT_EQ(encoder.columns()[2].reason, Reason::empty);
    EXPECT_EQ(encoder.columns()[3].reason, Reason::empty);
  }
  checkpoint.set("column.0.dropped", std::string("mood"));
  EXPECT_THROW(Encoder::load(checkpoint), FileError);
}

TEST(Encoder, ADateIsItsTimeItsYearAndItsCycles) {
  // A year of Mondays, a week of days, and two times of day.
  const Table table = column_of({"2023-01-02", "2024-07-01", "2024-07-02 06:00", "2024-12-30 18:00", ""});
  ASSERT_TRUE(table.columns()[0].format.is_date());
  const Encoder encoder = fit_column(table);
  const ColumnCode& code = encoder.columns()[0];
  EXPECT_EQ(code.form, Form::date);
  EXPECT_EQ(code.missing, 1U);
  ASSERT_EQ(encoder.features(), 1U + 1 + 2 + 2 + 2 + 2 + 1);
  for (std::size_t r = 0; r < 4; ++r) {
    const Features x = encode(encoder, table, r);
    EXPECT_NEAR(x[0], (table[r][0] - code.mean) / code.deviation, 1e-6);
    for (std::size_t i = 2; i < 10; i += 2) EXPECT_NEAR(x[i] * x[i] + x[i + 1] * x[i + 1], 1, 1e-6) << i;
    EXPECT_EQ(x.back(), 0);
  }
  const Features january = encode(encoder, table, 0);
  const Features july = encode(encoder, table, 1);
  const Features tuesday = encode(encoder, table, 2);
  EXPECT_LT(january[1], july[1]);  // the years
  EXPECT_NEAR(january[3], 1, 1e-6);
  EXPECT_NEAR(july[3], -1, 1e-6);  // half a year later
  EXPECT_NEAR(july[4], january[4], 1e-6);
  EXPECT_NE(tuesday[4], july[4]);
  EXPECT_NEAR(tuesday[8], 1, 1e-6);  // a quarter of a day
  EXPECT_EQ(encode(encoder, table, 4), (Features{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(Encoder, PartsOfADateThatNeverChangeAreDropped) {
  const Table mondays = column_of({"2024-07-01", "2024-07-08", "2024-07-15"});
  EXPECT_EQ(fit_column(mondays).features(), 1U + 2);  // the time, and the day of the year
  const Table hours = column_of({"2024-07-01 10:00", "2024-07-01 11:30"});
  EXPECT_EQ(fit_column(hours).features(), 1U + 2);
  EXPECT_EQ(fit_column(column_of({"2024-07-01", "2024-07-01"})).features(), 0U);
  const Encoder sometimes = fit_column(column_of({"2024-07-01", "", "2024-07-01"}));
  EXPECT_EQ(sometimes.features(), 1U);  // whether there is a date
}

TEST(Encoder, NumbersMustMeanWhatTheyMeantInTraining) {
  const Encoder dates = fit_column(column_of({"2024-07-01", "2024-07-08"}));
  EXPECT_EQ(match_fault(dates, column_of({"1", "2"})), "the column 'x' holds number, but held date in training");
  const Encoder plain = fit_column(column_of({"1", "2"}));
  EXPECT_EQ(match_fault(plain, column_of({"1%", "2%"})),
            "the column 'x' holds number with %, but held number in training");
  EXPECT_EQ(match_fault(plain, column_of({"2024-07-01"})), "the column 'x' holds date, but held number in training");
  EXPECT_EQ(match_fault(plain, column_of({"$1", "\"$1,200\""})), "none");
  EXPECT_EQ(match_fault(fit_column(column_of({"$1", "$2"})), column_of({"\xc2\xa3"
                                                                        "1"})),
            "the column 'x' holds number with currency \xc2\xa3, but held number with currency $ in training");
}

TEST(Encoder, TextsOfTheirOwnInNearlyEveryRowAreIds) {
  for (const auto& [rows, copies, ids] :
       {std::tuple(100, 0, true), std::tuple(99, 0, false), std::tuple(1000, 50, true), std::tuple(1000, 51, false),
        std::tuple(1000, 900, false)}) {
    std::vector<std::string> values(static_cast<std::size_t>(rows));
    for (int r = 0; r < rows; ++r) values[static_cast<std::size_t>(r)] = fmt::format("id-{}", r < copies ? -1 : r);
    const Table table = column_of(values);
    const Encoder encoder = fit_column(table);
    EXPECT_EQ(encoder.columns()[0].form == Form::dropped, ids) << rows << ' ' << copies;
    EXPECT_EQ(encoder.columns()[0].reason == ColumnCode::DropReason::ids, ids);
    EXPECT_EQ(fit_column(table, true).columns()[0].form, Form::hashed);
  }
  // Missing cells are no ids.
  std::vector<std::string> values(1000);
  for (std::size_t r = 0; r < 200; ++r) values[r] = fmt::format("id-{}", r);
  EXPECT_EQ(fit_column(column_of(values)).columns()[0].reason, ColumnCode::DropReason::ids);
}

}  // namespace
}  // namespace ignd
