#include "support.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

// The checker that users have must pass what is right and find what is wrong.
namespace ignd::testing {
namespace {

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  does not contain: " << part;
}

// f = w.x + b, with a mistake to plant.
enum class Mistake {
  none,
  wrong_sign,
  forgotten_bias,
  slightly_wrong,
  adds_up,       // the trace keeps what it had
  in_the_model,  // the last sample is kept in the model, not in the trace
  shared_clone,
  other_spec,
  wrong_norm,
  overlap,
  too_long,
  not_finite,
};

class Line final : public Model<double> {
 public:
  explicit Line(Mistake mistake, std::size_t features = 3)
      : Model(features + 1), mistake_(mistake), features_(features) {
    std::iota(parameters().begin(), parameters().end(), 0.5);
  }
  std::string spec() const override { return mistake_ == Mistake::other_spec && copied_ ? "copy" : "line"; }
  std::unique_ptr<Model> clone() const override {
    auto copy = std::make_unique<Line>(*this);
    copy->copied_ = true;
    if (mistake_ == Mistake::shared_clone) copy->original_ = this;
    return copy;
  }
  void check(const Input<double>& x) const override { check_dense(x, features_); }
  void prepare(Trace<double>& trace) const override {
    trace.scratch.resize(features_ + 2);
    const std::size_t size = features_ + (mistake_ == Mistake::too_long ? 2 : 1);
    trace.j = {Dense<double>{0, std::span<const double>(trace.scratch).first(size)}};
    if (mistake_ == Mistake::overlap) trace.j.push_back(trace.j.front());
  }
  double forward(const Input<double>& x, Trace<double>& trace) const override {
    std::ranges::copy(x.values, last_.begin());
    if (mistake_ == Mistake::wrong_norm) trace.squared_norm = 3;
    if (mistake_ == Mistake::not_finite) return std::numeric_limits<double>::quiet_NaN();
    const auto w = original_ == nullptr ? parameters() : original_->parameters();
    return std::inner_product(x.values.begin(), x.values.end(), w.begin(), w.back());
  }
  void sensitivity(const Input<double>& x, Trace<double>& trace) const override {
    for (std::size_t i = 0; i < features_; ++i) {
      const double value = mistake_ == Mistake::in_the_model ? last_.at(i) : x.values[i];
      trace.scratch[i] = value + (mistake_ == Mistake::adds_up ? trace.scratch[i] : 0);
    }
    trace.scratch[features_] = mistake_ == Mistake::forgotten_bias ? 0 : 1;
    if (mistake_ == Mistake::wrong_sign) trace.scratch[1] *= -1;
    if (mistake_ == Mistake::slightly_wrong) trace.scratch[1] *= 1.001;
  }

 private:
  Mistake mistake_;
  std::size_t features_;
  bool copied_ = false;
  const Line* original_ = nullptr;
  mutable std::array<double, 8> last_{};
};

TEST(CheckModel, FindsEachMistake) {
  const std::vector<std::pair<Mistake, std::string>> mistakes{
      {Mistake::wrong_sign, "parameter 1 of sample 0: it is "},
      {Mistake::forgotten_bias, "parameter 3 of sample 0: it is 0, but differences say 1"},
      {Mistake::slightly_wrong, "parameter 1 of sample 0: it is "},
      {Mistake::adds_up, "parameter 0 of sample 0: a trace that was used before"},
      {Mistake::in_the_model, "a trace that was used before, or beside another one, gives another sensitivity"},
      {Mistake::shared_clone, "but differences say 0"},
      {Mistake::other_spec, "clone(): the copy has another spec()"},
      {Mistake::wrong_norm, "sample 0: the trace has a squared_norm of 3"},
      {Mistake::overlap, "sample 0: ||j||^2 is "},
      {Mistake::too_long, "sample 0: a block ends behind the last parameter"},
      {Mistake::not_finite, "sample 0: the output is not finite"},
  };
  for (const auto& [mistake, text] : mistakes) {
    const DerivativeReport report = check_model<double>(Line(mistake), 3);
    EXPECT_FALSE(report.ok) << text;
    expect_contains(report.text, "sensitivity() is wrong: ");
    expect_contains(report.text, text);
    expect_contains(report.text, report.where);
  }
}

TEST(CheckModel, SaysWhatItCompared) {
  const DerivativeReport report = check_model<double>(Line(Mistake::none), 3);
  EXPECT_TRUE(report.ok);
  EXPECT_LT(report.largest_error, 1e-6);
  expect_contains(report.text, "sensitivity() is right: 4 of 4 parameters at 10 samples, largest relative error ");
}

TEST(CheckModel, TakesTheToleranceThatItIsGiven) {
  EXPECT_TRUE(check_model<double>(Line(Mistake::slightly_wrong), 3, {.tolerance = 0.01}).ok);
  EXPECT_FALSE(check_model<double>(Line(Mistake::slightly_wrong), 3, {.tolerance = 1e-4}).ok);
}

TEST(CheckModel, RefusesWhatItCannotCheck) {
  EXPECT_THROW(check_model<double>(Line(Mistake::none), 2), BadSample);
  EXPECT_THROW(check_model<double>(Line(Mistake::none), std::span<const Input<double>>()), InvalidArgument);
}

// A sparse model that forgets a part of what a trainer relies on.
class Sparse final : public Model<double> {
 public:
  Sparse(bool announces, bool has_table) : Model(8), announces_(announces), has_table_(has_table) {}
  std::string spec() const override { return "sparse"; }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Sparse>(*this); }
  void check(const Input<double>&) const override {}
  void prepare(Trace<double>& trace) const override { trace.j = {SparseRows<double>{}}; }
  std::vector<RowTable> row_tables() const override {
    if (!has_table_) return {};
    return {{.rows = 8, .sparse = true}};
  }
  double forward(const Input<double>& x, Trace<double>& trace) const override {
    if (announces_) trace.about_to_read(0, x.index);
    double f = 0;
    for (std::size_t i = 0; i < x.index.size(); ++i) f += x.values[i] * parameters()[x.index[i]];
    return f;
  }
  void sensitivity(const Input<double>& x, Trace<double>& trace) const override {
    trace.j = {SparseRows<double>{.index = x.index, .rows = x.values}};
  }

 private:
  bool announces_, has_table_;
};

TEST(CheckModel, LooksAtRowsOfTables) {
  const std::vector<double> values{1, 2};
  const std::vector<std::uint32_t> index{3, 5}, unordered{5, 3};
  const std::vector<Input<double>> inputs{{values, index}};
  const auto text = [&](bool announces, bool has_table) {
    return check_model<double>(Sparse(announces, has_table), inputs).text;
  };
  expect_contains(text(true, true), "is right");
  expect_contains(text(false, true), "forward() does not announce the rows of the sensitivity's block");
  expect_contains(text(false, false), "row_tables() lacks the table of a block of rows");
  expect_contains(text(true, false), "announces rows of a table that row_tables() does not have");
  const std::vector<Input<double>> wrong{{values, unordered}};
  expect_contains(check_model<double>(Sparse(true, true), wrong).text, "not in increasing order");
}

// f = a x + b: of the rows {x, 1}, some are not listed as active.
class Layer final : public Model<double> {
 public:
  explicit Layer(std::size_t active) : Model(2), active_(active) {}
  std::string spec() const override { return "layer"; }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Layer>(*this); }
  void check(const Input<double>& x) const override { check_dense(x, 1); }
  void prepare(Trace<double>& trace) const override {
    trace.scratch = {0, 1, 1};
    trace.index = {0, 1};
    const std::span<const double> numbers(trace.scratch);
    trace.j = {Outer<double>{.u = numbers.first(2),
                             .v = numbers.last(1),
                             .active = std::span<const std::uint32_t>(trace.index).first(active_)}};
  }
  double forward(const Input<double>& x, Trace<double>& trace) const override {
    trace.scratch[0] = x.values[0];
    return parameters()[0] * x.values[0] + parameters()[1];
  }
  void sensitivity(const Input<double>&, Trace<double>&) const override {}

 private:
  std::size_t active_;
};

TEST(CheckModel, LooksAtActiveRows) {
  EXPECT_TRUE(check_model<double>(Layer(2), 1).ok);
  expect_contains(check_model<double>(Layer(1), 1).text, "row 1 of a block is not zero, but not active either");
}

template <class T>
class CorrectModels : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CorrectModels, Precisions);

TYPED_TEST(CorrectModels, OfDenseSamplesPass) {
  using T = TypeParam;
  const std::vector<std::pair<std::string, std::size_t>> models{
      {"linear:features=5", 5},
      {"linear:features=5,bias=0", 5},
      {"mlp:widths=4", 4},
      {"mlp:widths=3x8x5,activation=relu", 3},
      {"mlp:widths=3x4x2x5,activation=tanh", 3},
      {"mlp:widths=3x4,activation=tanh,outputs=3", 3},
      {"network:values 4; dense 6; tanh; dense 1", 4},
      {"network:values 4; dense 6; relu; dense 3", 4},
      {"network:image 2 6 6; convolution 3; relu; max-pool; flatten; dense 4; tanh; dense 1", 72},
      {"network:image 1 6 6; convolution 2; relu; max-pool; flatten; dense 2", 36},
  };
  for (const auto& [spec, features] : models) {
    if (!has_convolutions && spec.find("convolution") != std::string::npos) continue;
    const auto model = make_model<T>(spec, 7);
    const DerivativeReport report = check_model<T>(*model, features, {.samples = 4});
    EXPECT_TRUE(report.ok) << spec << ": " << report.text;
  }
}

TYPED_TEST(CorrectModels, OfSparseSamplesAndTextsPass) {
  using T = TypeParam;
  const auto hashed = make_model<T>("hashed-linear:bits=3");
  const std::vector<T> values{1, -2, T{0.5}};
  const std::vector<std::uint32_t> index{7, 2, 15}, more{1, 3, 4};  // 15 falls on 7
  const std::vector<Input<T>> sparse{{values, index}, {values, more}};
  EXPECT_TRUE(check_model<T>(*hashed, sparse).ok) << check_model<T>(*hashed, sparse).text;
  const auto lstm = make_model<T>("network:tokens 8 16; embedding 3; lstm 4; last; dense 1", 3);
  const std::vector<std::uint32_t> text{3, 1, 3, 9}, other{5, 15};
  const std::vector<Input<T>> texts{{{}, text}, {{}, other}};
  const DerivativeReport report = check_model<T>(*lstm, texts);
  EXPECT_TRUE(report.ok) << report.text;
}

TEST(CheckModel, DrawsSomeParametersOfALargeModel) {
  const DerivativeReport report =
      check_model<double>(Mlp<double>({50, 100}), 50, {.samples = 2, .most_parameters = 40});
  EXPECT_TRUE(report.ok) << report.text;
  expect_contains(report.text, " of 5201 parameters at 2 samples");
}

TEST(CheckLoss, OurLossesPass) {
  for (const auto& loss : all_losses()) {
    const DerivativeReport report = check_loss(*loss);
    EXPECT_TRUE(report.ok) << report.text;
  }
  const std::vector<double> counts{0, 3, 80};
  EXPECT_TRUE(check_loss(*make_loss("poisson"), counts).ok) << check_loss(*make_loss("poisson"), counts).text;
}

// |f - y| + (f - y)^2 / 2, whose slope jumps at the target, and its mistakes.
enum class LossMistake { none, sign_of_d1, no_d2, d2_too_large, concave, minimum, not_finite };

class Kinked final : public Loss {
 public:
  explicit Kinked(LossMistake mistake) : mistake_(mistake) {}
  LossAt at(double y, double f) const override {
    const double e = f - y, sign = e > 0 ? 1 : e < 0 ? -1 : 0;
    LossAt at{std::abs(e) + e * e / 2, sign + e, 1};
    if (mistake_ == LossMistake::sign_of_d1) at.d1 = sign - e;
    if (mistake_ == LossMistake::no_d2) at.d2 = 0;
    if (mistake_ == LossMistake::d2_too_large) at.d2 = 2;
    if (mistake_ == LossMistake::concave) at = {2 + std::sin(f), std::cos(f), -std::sin(f)};
    if (mistake_ == LossMistake::not_finite && f > 3) at.d2 = std::numeric_limits<double>::infinity();
    return at;
  }
  double minimum(double /*y*/) const override { return mistake_ == LossMistake::minimum ? 0.5 : 0; }
  std::string spec() const override { return "kinked"; }

 private:
  LossMistake mistake_;
};

TEST(CheckLoss, FindsEachMistake) {
  EXPECT_TRUE(check_loss(Kinked(LossMistake::none)).ok) << check_loss(Kinked(LossMistake::none)).text;
  const std::vector<std::pair<LossMistake, std::string>> mistakes{
      {LossMistake::sign_of_d1, "l_f is "},
      {LossMistake::no_d2, "l_ff is 0, but differences say 1"},
      {LossMistake::d2_too_large, "l_ff is 2, but differences say 1"},
      {LossMistake::concave, "must be convex"},
      {LossMistake::minimum, "is below minimum(), 0.5"},
      {LossMistake::not_finite, "l_ff inf"},
  };
  for (const auto& [mistake, text] : mistakes) {
    const DerivativeReport report = check_loss(Kinked(mistake));
    EXPECT_FALSE(report.ok) << text;
    expect_contains(report.text, "the loss 'kinked' is wrong: y = ");
    expect_contains(report.text, text);
  }
}

TEST(CheckLoss, ABoundOnTheCurvatureMayBeLargerButNotSmaller) {
  const DerivativeOptions bound{.curvature_is_bound = true};
  EXPECT_TRUE(check_loss(Kinked(LossMistake::d2_too_large), {}, bound).ok);
  EXPECT_FALSE(check_loss(Kinked(LossMistake::no_d2), {}, bound).ok);
}

class PickyLoss final : public Loss {
 public:
  LossAt at(double y, double f) const override { return {(f - y) * (f - y) / 2, f - y, 1}; }
  void check_target(double y) const override {
    if (y < 100) throw BadSample("too small");
  }
  std::string spec() const override { return "picky"; }
};

TEST(CheckLoss, AsksForTargetsWhereItKnowsNone) {
  EXPECT_THROW(check_loss(PickyLoss()), InvalidArgument);
  const std::vector<double> targets{100, 500};
  EXPECT_TRUE(check_loss(PickyLoss(), targets).ok);
}

}  // namespace
}  // namespace ignd::testing
