#include "learn/explanation.hpp"

#include "base/stopped.hpp"
#include "data/csv_examples.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/model_file.hpp"
#include "ignd/random.hpp"
#include "ignd/stream.hpp"
#include "ignd/train.hpp"
#include "learn/trained_model.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using Function = std::function<double(std::span<const float> x)>;

// A model whose output is a known function of the encoded features.
class Formula final : public Model<float> {
 public:
  explicit Formula(Function function) : Model(1), function_(std::move(function)) {}
  std::string spec() const override { return "formula"; }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Formula>(*this); }
  void check(const Input<float>& /*x*/) const override {}
  void prepare(Trace<float>& trace) const override {
    trace.scratch.resize(1);
    trace.j = {Dense<float>{0, trace.scratch}};
  }
  double forward(const Input<float>& x, Trace<float>& /*trace*/) const override { return function_(x.values); }
  void sensitivity(const Input<float>& /*x*/, Trace<float>& /*trace*/) const override {}

 private:
  Function function_;
};

constexpr std::size_t few = 2000;

// Independent columns a, b, c, a copy of a, a constant, and a target 7 + 3 z for z = 2 a - b in units of their own.
class Columns : public ::testing::Test {
 protected:
  Columns() : table_(make_table()), dataset_(table_, options()) {}

  static Table make_table() {
    RandomStream stream(1, "columns");
    std::vector<double> rows;
    for (std::size_t i = 0; i < few; ++i) {
      const double a = stream.uniform(-1, 1), b = stream.uniform(-1, 1), c = stream.normal();
      rows.insert(rows.end(), {a, 10 * b, c, a, 5, 7 + 3 * (2 * a - b), 1 + double(i % 3)});
    }
    return Table::of_numbers({"a", "b", "c", "copy", "same", "y", "w"}, rows);
  }
  static DatasetOptions options() {
    return {.target = "y",
            .weight = "w",
            .validation = 0,
            .test = 0.5,
            .scaling = NumberScaling::standard,
            .scale_target = false};
  }

  // What the encoder makes of a cell: an affine function.
  double encoded(std::size_t column, double cell) const {
    const ColumnCode& code = dataset_.encoder().columns()[column];
    return (cell - code.mean) / code.deviation;
  }

  Explanation explain(const Function& function, ExplainOptions options = {}) const {
    return explain_columns(dataset_, dataset_.split().test, Formula(function), options);
  }

  // Undoes the encoding of a and b.
  Function of_cells(std::function<double(double a, double b)> function) const {
    const ColumnCode& a = dataset_.encoder().columns()[0];
    const ColumnCode& b = dataset_.encoder().columns()[1];
    return [=](std::span<const float> x) {
      return function(a.mean + a.deviation * double{x[0]}, b.mean + b.deviation * double{x[1]});
    };
  }

  static const ColumnImportance& find(const Explanation& made, const std::string& column) {
    return *std::ranges::find(made.importance, column, &ColumnImportance::column);
  }

  Table table_;
  TableDataset dataset_;
};

// f = 7 + 3 (2 a - b / 10) is the target itself, so that the error is 0 before anything is shuffled. Shuffling a column
// of variance v and slope s gives errors s (x - x') of mean square 2 s^2 v. The columns are uniform in [-1, 1], or ten
// times that, of variance 1/3 and 100/3. A thousand rows leave less than 5 % of error.
TEST_F(Columns, HaveTheImportanceThatTheirVarianceGives) {
  const Explanation made = explain(of_cells([](double a, double b) { return 7 + 3 * (2 * a - b / 10); }));
  EXPECT_EQ(made.measure, "RMSE");
  EXPECT_NEAR(made.score, 0, 1e-5);
  EXPECT_EQ(made.rows, few / 2);
  EXPECT_NEAR(find(made, "a").increase, 6 * std::sqrt(2.0 / 3), 0.25);
  EXPECT_NEAR(find(made, "b").increase, 3 * std::sqrt(2.0 / 3), 0.13);
  EXPECT_GT(*find(made, "a").deviation, 0);
  EXPECT_LT(*find(made, "a").deviation, 0.25);
  // What the function does not read is worth nothing, to the last bit.
  EXPECT_EQ(find(made, "c").increase, 0);
  EXPECT_EQ(*find(made, "c").deviation, 0);
  EXPECT_EQ(find(made, "copy").increase, 0);
  EXPECT_EQ(made.importance[0].column, "a");
  EXPECT_EQ(made.importance[1].column, "b");
  EXPECT_EQ(made.importance.size(), 4U) << "a constant column is not an input";
  EXPECT_FALSE(made.linear);
}

// A column that only adds noise to the prediction cannot be told from one that does nothing by its sign alone: its
// rise stays within what the shuffles differ by.
TEST_F(Columns, ThatMeanNothingAreWithinTheirSpread) {
  const Explanation made = explain(
      [&](std::span<const float> x) {
        return 7 + 3 * (2 * double{x[0]} + double{x[1]}) + 1.5 * std::sin(40 * double{x[2]});
      },
      {.repeats = 30});
  const ColumnImportance& c = find(made, "c");
  EXPECT_GT(*c.deviation, 0);
  EXPECT_LT(std::abs(c.increase), 3 * *c.deviation);
}

// Two equal columns that share the work: shuffling one of them spoils half of it.
TEST_F(Columns, ThatAreCorrelatedShareTheirImportance) {
  const auto both = of_cells([](double a, double b) { return 7 + 3 * (a - b / 10); });
  const double slope = dataset_.encoder().columns()[0].deviation;
  const Explanation made = explain([&](std::span<const float> x) { return both(x) + 3 * (slope * double{x[3]}); });
  EXPECT_NEAR(find(made, "a").increase, 3 * std::sqrt(2.0 / 3), 0.15);
  EXPECT_NEAR(find(made, "copy").increase, 3 * std::sqrt(2.0 / 3), 0.15);
}

TEST_F(Columns, HaveThePartialDependenceOfAnAdditiveFunction) {
  const auto shape = [](double a) { return std::sin(3 * a); };
  const Explanation made =
      explain(of_cells([&](double a, double b) { return 20 * shape(a) + b * b / 20; }), {.curves = 2});
  ASSERT_EQ(made.dependence.size(), 2U);
  EXPECT_EQ(made.averaged, 1000U);
  const PartialDependence& a = made.dependence[0];
  const PartialDependence& b = made.dependence[1];
  ASSERT_EQ(a.column, "a");
  ASSERT_EQ(b.column, "b");
  ASSERT_EQ(a.points.size(), 12U);
  EXPECT_FALSE(a.is_text());
  for (std::size_t k = 1; k < a.points.size(); ++k) {
    EXPECT_GT(*a.points[k].value, *a.points[k - 1].value);
    EXPECT_NEAR(a.points[k].means.at(0) - a.points[0].means.at(0),
                20 * (shape(*a.points[k].value) - shape(*a.points[0].value)), 1e-4);
    EXPECT_NEAR(b.points[k].means.at(0) - b.points[0].means.at(0),
                (*b.points[k].value * *b.points[k].value - *b.points[0].value * *b.points[0].value) / 20, 1e-4);
  }
}

// Of an interaction: the mean over the rows, each with its weight.
TEST_F(Columns, HaveAPartialDependenceThatIsTheWeightedMeanOverTheRows) {
  const auto function = [](double a, double b) { return std::exp(a) * b; };
  const Explanation made = explain(of_cells(function), {.curves = 1, .points = 3});
  ASSERT_EQ(made.dependence.at(0).points.size(), 3U);
  for (const auto& point : made.dependence[0].points) {
    double sum = 0, total = 0;
    for (const std::uint32_t row : dataset_.split().test) {
      const auto cells = table_[row];
      const bool of_a = made.dependence[0].column == "a";
      sum += cells[6] * (of_a ? function(*point.value, cells[1]) : function(cells[0], *point.value));
      total += cells[6];
    }
    EXPECT_NEAR(point.means.at(0), sum / total, 1e-4);
  }
}

TEST_F(Columns, AreExplainedByTheSeed) {
  const auto function = of_cells([](double a, double b) { return a * b; });
  const auto increases = [&](const ExplainOptions& options) {
    std::vector<double> made;
    for (const ColumnImportance& one : explain(function, options).importance) made.push_back(one.increase);
    return made;
  };
  EXPECT_EQ(increases({.seed = 3}), increases({.seed = 3}));
  EXPECT_NE(increases({.seed = 3}), increases({.seed = 4}));
  const Explanation some = explain(function, {.rows = 100, .repeats = 1, .averaged = 50});
  EXPECT_EQ(some.rows, 100U);
  EXPECT_EQ(some.all_rows, few / 2);
  EXPECT_EQ(some.averaged, 50U);
  EXPECT_FALSE(some.importance[0].deviation) << "one shuffle has no spread";
}

TEST_F(Columns, OfOneRowHaveNothingToShuffle) {
  const std::vector<std::uint32_t> row{3};
  const Explanation made =
      explain_columns(dataset_, row, Formula(of_cells([](double a, double b) { return a + b; })), {});
  EXPECT_EQ(made.rows, 1U);
  for (const ColumnImportance& one : made.importance) {
    EXPECT_EQ(one.increase, 0) << one.column;
    EXPECT_EQ(*one.deviation, 0) << one.column;
  }
  ASSERT_EQ(made.dependence.size(), 4U);
  for (const PartialDependence& curve : made.dependence) EXPECT_EQ(curve.points.size(), 1U);
}

TEST_F(Columns, AreLeftAloneOnceStopped) {
  std::atomic<bool> stop = false;
  std::size_t last = 0, all = 0;
  const Formula model(of_cells([](double a, double b) { return a + b; }));
  explain_columns(dataset_, dataset_.split().test, model, {}, {.progress = [&](std::size_t done, std::size_t total) {
                    EXPECT_LE(done, total);
                    EXPECT_GE(done, last);
                    last = done;
                    all = total;
                  }});
  EXPECT_EQ(last, all);
  const auto stop_soon = [&](std::size_t done, std::size_t /*total*/) { stop = done > 5000; };
  EXPECT_THROW(explain_columns(dataset_, dataset_.split().test, model, {}, {.progress = stop_soon, .stop = &stop}),
               Stopped);
  const Formula infinite([](std::span<const float>) { return INFINITY; });
  EXPECT_THROW(explain_columns(dataset_, dataset_.split().test, infinite, {}), Error);
}

// Trained models, through the public header, beside predictions of tables that were edited by hand.
class Explained : public ::testing::Test {
 protected:
  using Row = std::map<std::string, std::string>;

  Explained() {
    RandomStream stream(5, "explained");
    for (int i = 0; i < 300; ++i) {
      const double a = stream.normal();
      const char* city = i % 3 == 0 ? "Ulm" : i % 3 == 1 ? "Bonn" : "Kiel";
      const double y = 50 + 4 * a + (i % 3) + stream.normal();
      rows_.push_back({{"a", i % 11 == 0 ? "" : fmt::format("{}", a)},
                       {"city", i % 17 == 0 ? "" : city},
                       {"day", fmt::format("20{}-{:02}-{:02}", 10 + i % 9, 1 + i % 12, 1 + i % 28)},
                       {"id", fmt::format("n{}", i % 90)},
                       {"y", fmt::format("{}", y)},
                       {"count", fmt::format("{}", stream.below(5) + (a > 0 ? 3 : 0))},
                       {"label", y > 51 ? "yes" : "no"},
                       {"three", y < 49   ? "low"
                                 : y < 52 ? "mid"
                                          : "top"}});
    }
    write(rows_, "t.csv");
  }

  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }

  void write(const std::vector<Row>& rows, const std::string& name) const {
    std::ofstream file(path(name));
    for (const auto& [column, cell] : rows[0]) file << column << ",";
    file << "end\n";
    for (const Row& row : rows) {
      for (const auto& [column, cell] : row) file << cell << ",";
      file << "0\n";
    }
  }

  ModelFile train(TrainSettings settings, const std::vector<std::string>& columns) const {
    std::vector<Row> rows;
    for (const Row& row : rows_) {
      rows.emplace_back();
      for (const std::string& column : columns) rows.back()[column] = row.at(column);
    }
    write(rows, "some.csv");
    settings.try_emplace("epochs", "3");
    return ignd::train(path("some.csv"), settings).model;
  }

  // The whole explanation, by the model in a file.
  Explanation explain(const ModelFile& model, ExplainOptions options) const {
    model.save(path("m.ignd"));
    NewData data;
    data.file.path = path("t.csv");
    return TrainedModel::load("m.ignd", Checkpoint::read(path("m.ignd")))->explain(data, options);
  }

  std::vector<Row> rows_;
  testing::ScratchFolder scratch_;
};

TEST_F(Explained, DependOnAColumnAsPredictionsOfAnEditedTableDo) {
  const std::vector<std::string> inputs{"a", "city", "day", "id"};
  for (const auto& [target, settings] : std::vector<std::pair<std::string, TrainSettings>>{
           {"y", {{"model", "mlp:8"}, {"lr", "0.01"}}},
           {"y", {{"ensemble", "2"}, {"model", "mlp:8"}}},
           {"count", {{"model", "mlp:8"}, {"loss", "poisson"}, {"lr", "0.01"}}},
           {"label", {{"model", "mlp:8"}, {"lr", "0.01"}}},
           {"three", {{"ensemble", "2"}, {"model", "mlp:8"}}}}) {
    SCOPED_TRACE(target);
    TrainSettings with_target = settings;
    with_target["target"] = target;
    std::vector<std::string> columns = inputs;
    columns.push_back(target);
    const ModelFile model = train(with_target, columns);
    const Explanation made = explain(model, {.repeats = 2, .points = 6});
    EXPECT_EQ(made.rows, 300U);
    ASSERT_EQ(made.dependence.size(), 4U);
    for (const PartialDependence& curve : made.dependence) {
      EXPECT_EQ(curve.is_date, curve.column == "day");
      EXPECT_EQ(curve.note.empty(), curve.column != "id") << curve.note;
      const bool has_missing = curve.column == "a" || curve.column == "city";
      EXPECT_EQ(curve.points.back().text == "missing", has_missing) << curve.column;
      for (const std::size_t k : {std::size_t{0}, curve.points.size() - 1}) {
        const auto& point = curve.points[k];
        std::vector<Row> edited = rows_;
        const bool plain = point.value && !curve.is_date;
        for (Row& row : edited) {
          row[curve.column] = point.text == "missing" ? "" : plain ? fmt::format("{}", *point.value) : point.text;
        }
        write(edited, "edited.csv");
        std::vector<double> means(point.means.size());
        for (const Prediction& one : model.predict_file(path("edited.csv"))) {
          if (means.size() == 1) {
            means[0] += (one.probabilities.empty() ? one.value : one.probabilities[1]) / 300;
          } else {
            for (std::size_t c = 0; c < means.size(); ++c) means[c] += one.probabilities[c] / 300;
          }
        }
        for (std::size_t c = 0; c < means.size(); ++c) EXPECT_NEAR(point.means[c], means[c], 1e-9) << curve.column;
      }
    }
    const Importance importance = model.importance(path("t.csv"), {.repeats = 2});
    EXPECT_EQ(importance.measure, target == "y" ? "RMSE" : target == "count" ? "poisson loss" : "log loss");
    ASSERT_EQ(importance.columns.size(), made.importance.size());
    for (std::size_t k = 0; k < importance.columns.size(); ++k) {
      EXPECT_EQ(importance.columns[k].column, made.importance[k].column);
      EXPECT_EQ(importance.columns[k].increase, made.importance[k].increase);
    }
  }
}

// Differences of predictions, in the scale that the coefficients are of.
TEST_F(Explained, LinearModelsHaveTheCoefficientsThatDifferencesShow) {
  for (const auto& made : std::vector<std::pair<std::string, TrainSettings>>{
           {"y", {}}, {"y", {{"pieces", "8"}}}, {"label", {}}, {"count", {{"loss", "poisson"}}}, {"three", {}}}) {
    const std::string target = made.first;
    const TrainSettings more = made.second;
    SCOPED_TRACE(target + (more.empty() ? "" : " " + more.begin()->first));
    TrainSettings settings{{"model", "linear"}, {"lr", "0.01"}, {"target", target}};
    settings.insert(more.begin(), more.end());
    const ModelFile model = train(settings, {"a", "city", "day", target});
    const auto form = explain(model, {.repeats = 1, .curves = 0}).linear;
    ASSERT_TRUE(form);
    const std::size_t outputs = form->intercept.size();
    ASSERT_EQ(outputs, target == "three" ? 3U : 1U);
    EXPECT_EQ(form->unit, target == "y" ? "prediction" : target == "count" ? "log of the mean" : "log-odds");

    // The outputs of a row; of more than two classes up to a constant, which differences between classes do not have.
    const auto at = [&](Row row) {
      const Prediction said = model.predict(row);
      if (said.probabilities.empty()) return std::vector{target == "count" ? std::log(said.value) : said.value};
      std::vector<double> logits;
      if (outputs == 1) return std::vector{std::log(said.probabilities[1] / said.probabilities[0])};
      for (const double p : said.probabilities) logits.push_back(std::log(p / said.probabilities[0]));
      return logits;
    };
    const auto of = [&](const std::string& column, const std::string& part) {
      for (const Coefficient& one : form->coefficients) {
        if (one.column != column || one.part != part) continue;
        std::vector<double> values = one.values;
        if (outputs > 1) {
          for (double& value : values) value -= one.values[0];
        }
        return values;
      }
      ADD_FAILURE() << column << " " << part;
      return std::vector<double>(outputs);
    };
    const auto expect_difference = [&](const Row& to, const Row& from, double scale, const std::vector<double>& value) {
      const auto above = at(to), below = at(from);
      for (std::size_t k = 0; k < outputs; ++k) {
        EXPECT_NEAR((above[k] - below[k]) / scale, value[k],
                    2e-3 * std::max(std::abs(value[k]), 0.02) / std::min(scale, 1.0));
      }
    };
    const Row middle{{"a", "0"}, {"city", "Ulm"}, {"day", "2014-06-15"}};
    const auto with = [&](const std::string& column, const std::string& cell) {
      Row row = middle;
      row[column] = cell;
      return row;
    };
    if (more.contains("pieces")) {
      for (const Coefficient& one : form->coefficients) {
        double low = 0, high = 0;
        if (std::sscanf(one.part.c_str(), "per unit from %lf to %lf", &low, &high) != 2) continue;
        const double width = (high - low) / 2;
        expect_difference(with("a", fmt::format("{}", low + 1.5 * width)),
                          with("a", fmt::format("{}", low + width / 2)), width, one.values);
      }
      expect_difference(with("a", "-4.5"), with("a", "-5"), 0.5, of("a", "per unit outside of the pieces"));
    } else {
      expect_difference(with("a", "1"), middle, 1, of("a", "per unit"));
      // Missing: in place of 0.
      expect_difference(with("a", ""), middle, 1, of("a", "is missing"));
    }
    // An unknown text is none of the known ones.
    expect_difference(with("city", "Ulm"), with("city", "Rome"), 1, of("city", "is Ulm"));
    expect_difference(with("city", ""), with("city", "Rome"), 1, of("city", "is missing"));

    // The intercept, at 0 and with no known text, but for the date.
    if (outputs == 1) {
      const double day = 16236;  // of 1970-01-01 is 2014-06-15
      double expected = form->intercept[0] + day * of("day", "per day")[0] + 44 * of("day", "per calendar year")[0];
      const auto cycle = [&](const char* what, double share) {
        expected += of("day", std::string("sine of the ") + what)[0] * std::sin(2 * M_PI * share);
        expected += of("day", std::string("cosine of the ") + what)[0] * std::cos(2 * M_PI * share);
      };
      const DateParts parts = date_parts(day * 86'400);
      cycle("month", parts.month / 12.0);
      cycle("weekday", parts.weekday / 7.0);
      cycle("day of the year", parts.day_of_year / 365.0);
      EXPECT_NEAR(at(with("city", "Rome"))[0], expected, 2e-4 * (1 + std::abs(expected)));
    }
  }
}

TEST_F(Explained, ImportanceIsTheSameForAFrameAndRefusedForOthers) {
  const ModelFile model = train({{"target", "y"}, {"model", "linear"}, {"lr", "0.01"}}, {"a", "city", "y"});
  std::vector<std::string> a, city;
  std::vector<double> y;
  for (const Row& row : rows_) {
    a.push_back(row.at("a"));
    city.push_back(row.at("city"));
    y.push_back(std::stod(row.at("y")));
  }
  Frame frame{.rows = rows_.size()};
  frame.columns.emplace_back("a", std::make_shared<TextColumn>(a));
  frame.columns.emplace_back("city", std::make_shared<TextColumn>(city));
  frame.columns.emplace_back("y", std::make_shared<NumberColumn<double>>(y));
  const Importance here = model.importance(frame), there = model.importance(path("t.csv"));
  ASSERT_EQ(here.columns.size(), 2U);
  EXPECT_EQ(here.columns[0].column, "a");
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(here.columns[k].increase, there.columns[k].increase);
  EXPECT_THROW(model.importance(frame, {.repeats = 0}), InvalidArgument);
  EXPECT_THROW(model.importance(frame, {.rows = 0}), InvalidArgument);
  frame.columns.pop_back();
  EXPECT_THROW(model.importance(frame), Error) << "no target";
}

// The weight of a named feature is what the prediction changes by where the feature appears.
TEST_F(Explained, StreamsNameTheirHeaviestFeatures) {
  NewData data;
  data.file.path = path("t.csv");
  for (const unsigned bits : {18U, 2U}) {
    OnlineLearner learner("y", {.bits = bits, .centre = false});
    std::vector<Row> rows;
    for (const Row& row : rows_) rows.push_back({{"a", row.at("a")}, {"city", row.at("city")}, {"y", row.at("y")}});
    write(rows, "stream.csv");
    learner.learn_file(path("stream.csv"));
    learner.save(path("s.ignd"));
    const auto model = TrainedModel::load("s.ignd", Checkpoint::read(path("s.ignd")));
    data.file.path = path("stream.csv");
    const Explanation made = model->explain(data, {.heaviest = 10});
    ASSERT_TRUE(made.features);
    EXPECT_TRUE(made.features->has_names);
    EXPECT_EQ(made.features->unit, "prediction");
    EXPECT_EQ(made.rows, 300U);
    // a, where it is missing; three cities, where it is missing; "end" is always 0.
    ASSERT_EQ(made.features->features, 6U);
    ASSERT_EQ(made.features->heaviest.size(), 6U);
    EXPECT_EQ(made.features->colliding > 0, bits == 2);
    for (std::size_t k = 1; k < 6; ++k) {
      EXPECT_LE(made.features->heaviest[k].effect(), made.features->heaviest[k - 1].effect());
    }
    const auto predicted = [&](const std::string& a, const std::string& city) {
      return model->predict_row({{"a", a}, {"city", city}, {"end", "0"}}).value;
    };
    // "0" gives no feature.
    const double nothing = predicted("0", "0");
    for (const HeavyFeature& one : made.features->heaviest) {
      const bool of_a = one.name == "a", missing = one.name.ends_with(" is missing");
      const std::string city = one.name.starts_with("city=") ? one.name.substr(5) : "0";
      const double there = of_a                            ? predicted("2", "0") - nothing
                           : one.name == "a is missing"    ? predicted("", "0") - nothing
                           : one.name == "city is missing" ? predicted("0", "") - nothing
                                                           : predicted("0", city) - nothing;
      EXPECT_NEAR(there, (of_a ? 2 : 1) * one.weight, 1e-4 * (1 + std::abs(there))) << one.name;
      EXPECT_EQ(of_a || missing || city != "0", true) << one.name;
      EXPECT_EQ(one.sharing == 0 || bits == 2, true) << one.name;
      EXPECT_EQ(of_a || one.size == 1, true) << one.name;
    }
    EXPECT_EQ(model->explain(data, {.rows = 7}).rows, 7U);
  }
}

TEST(CellFeatures, HaveTheIndicesOfTheirCells) {
  const CellFormat date = CellFormat::parse("date");
  ExampleBlock block;
  append_cell(column_hash("day"), date, "2024-03-05 12:30", block);
  const auto names = cell_features("day", date, "2024-03-05 12:30");
  EXPECT_EQ(names.size(), block.index.size());
  for (const std::uint32_t index : block.index) {
    ASSERT_TRUE(names.contains(index));
    EXPECT_TRUE(names.at(index).starts_with("day: ")) << names.at(index);
  }
  EXPECT_EQ(cell_features("x", {}, "0").size(), 0U);
  EXPECT_EQ(cell_features("x", {}, "7").begin()->second, "x");
  EXPECT_EQ(cell_features("x", {}, " red ").begin()->second, "x=red");
  EXPECT_EQ(cell_features("x", {}, "NA").begin()->second, "x is missing");
}

}  // namespace
}  // namespace ignd
