// Every loss x model x rule x transform, with and without l2, metric and averaging, against the dense reference.
// What the library refuses is listed here with its reason.
#include "dense_reference.hpp"

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

struct Case {
  std::string name;
  std::size_t inputs;
  bool sparse;
  std::unique_ptr<Model<double>> (*make)();
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"linear", 4, false, [] { return make_model<double>("linear:features=4"); }},
      {"hashed", 8, true, [] { return make_model<double>("hashed-linear:bits=3"); }},
      {"relu", 3, false, [] { return make_model<double>("mlp:widths=3x4x3,activation=relu"); }},
      {"tanh", 3, false, [] { return make_model<double>("mlp:widths=3x4,activation=tanh"); }},
      {"identity", 3, false, [] { return make_model<double>("mlp:widths=3x2,activation=identity"); }},
  };
  return all;
}

// Why a combination is refused; empty if it is not.
std::string refusal(const Case& model, const ReferenceOptions& options) {
  if (options.l2 == 0) return "";
  if (options.rule == "normalized" || options.rule == "polyak") return "l2 with the rule";
  if (!model.sparse) return "";
  if (options.transform != "plain") return "l2 with the transform";
  if (options.average_from != 0) return "l2 with averaging";
  return "";
}

void expect_refused(const Case& model, const ReferenceOptions& options, const std::string& reason) {
  const auto made = model.make();
  try {
    const Trainer<double> trainer(*made, library_options(options));
    ADD_FAILURE() << "not refused: " << reason;
  } catch (const InvalidArgument& refused) {
    EXPECT_NE(std::string(refused.what()).find(reason), std::string::npos) << refused.what();
  }
}

// Rounding differences grow by a small factor per step; 40 steps keep them far below this, and a wrong term is
// far above it.
constexpr double tolerance = 1e-8;

void expect_equal_runs(const Case& model, const ReferenceOptions& options) {
  const auto made = model.make();
  DenseReference reference(*made, model.inputs, options);
  Trainer<double> trainer(*made, library_options(options));
  RandomStream stream(17, "matrix");
  for (int step = 0; step < 40; ++step) {
    const RandomInput x(stream, model.inputs, model.sparse);
    const double y = random_target(*options.loss, stream);
    const StepInfo info = trainer.step({x.input(), y});
    reference.step(x.input(), x.dense, y);
    ASSERT_EQ(info.status, StepStatus::learned) << "at step " << step;
    ASSERT_NEAR(info.h, reference.h(), tolerance * std::max(1.0, std::abs(reference.h()))) << "h at step " << step;
    ASSERT_LT(largest_difference(trainer.snapshot()->parameters(), reference.weights()), tolerance)
        << "weights at step " << step;
  }
  if (options.average_from != 0) {
    EXPECT_LT(largest_difference(trainer.snapshot(Iterate::averaged)->parameters(), reference.average()), tolerance);
  }
}

class Matrix : public ::testing::TestWithParam<std::tuple<std::size_t, std::string>> {};

TEST_P(Matrix, EqualsDenseReferenceOrIsRefused) {
  const Case& model = cases()[std::get<0>(GetParam())];
  int ran = 0;
  int refused = 0;
  for (const auto& rule : step_rule_names()) {
    for (const auto& transform : transform_names()) {
      for (const double l2 : {0.0, 0.05}) {
        for (const bool metric : {false, true}) {
          for (const std::uint64_t average_from : {0, 7}) {
            // Gradient steps on the Poisson loss grow with exp(f): the rate is small enough for all.
            const ReferenceOptions options{.loss = make_loss(std::get<1>(GetParam())),
                                           .rule = rule,
                                           .transform = transform,
                                           .schedule = Schedule::robbins_monro(0.005, 30),
                                           .l2 = l2,
                                           .preconditioner = metric,
                                           .average_from = average_from};
            SCOPED_TRACE(rule + " " + transform + " l2=" + std::to_string(l2) + " metric=" + std::to_string(metric) +
                         " average=" + std::to_string(average_from));
            const std::string reason = refusal(model, options);
            if (reason.empty()) {
              expect_equal_runs(model, options);
              ++ran;
            } else {
              expect_refused(model, options, reason);
              ++refused;
            }
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
  // 5 rules x 8 transforms x 2 metrics x 2 without l2. With it 3 of the rules, and on sparse rows only plain without
  // averaging: 3 rules x 2 metrics.
  EXPECT_EQ(ran, model.sparse ? 160 + 6 : 160 + 96);
  EXPECT_EQ(ran + refused, 320);
}

INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         ::testing::Combine(::testing::Range(std::size_t{0}, std::size_t{5}),
                                            ::testing::ValuesIn(loss_names())),
                         [](const auto& param) {
                           std::string name = cases()[std::get<0>(param.param)].name + "_" + std::get<1>(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Refusals, MetricNeedsWeightsThatMultiplyInputs) {
  // A model of a user whose weights multiply no input.
  class Constant final : public Model<double> {
   public:
    Constant() : Model(1) {}
    std::string spec() const override { return "constant"; }
    std::unique_ptr<Model<double>> clone() const override { return std::make_unique<Constant>(*this); }
    void check(const Input<double>& /*x*/) const override {}
    void prepare(Trace<double>& trace) const override {
      trace.scratch = {1.0};
      trace.j = {Dense<double>{0, trace.scratch}};
    }
    double forward(const Input<double>& /*x*/, Trace<double>& /*trace*/) const override { return parameters()[0]; }
    void sensitivity(const Input<double>& /*x*/, Trace<double>& /*trace*/) const override {}
  };
  Constant model;
  EXPECT_NO_THROW(Trainer<double>(model, {}));
  EXPECT_THROW(Trainer<double>(model, {.preconditioner = PreconditionerKind::second_moment}), InvalidArgument);
}

TEST(Refusals, AllFaultsComeInOneMessage) {
  Linear<double> model(2);
  try {
    const Trainer<double> trainer(model, {.loss = nullptr, .optimizer = {"newton", "adm"}, .l2 = -1});
    FAIL() << "not refused";
  } catch (const InvalidArgument& refused) {
    const std::string text = refused.what();
    for (const char* part : {"loss", "'newton'", "did you mean 'adam'", "l2 is -1"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
    }
  }
}

}  // namespace
}  // namespace ignd::testing
