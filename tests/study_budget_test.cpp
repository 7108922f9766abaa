#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/experiment.hpp"
#include "lab/optimizer_study.hpp"
#include "lab/plan.hpp"
#include "learn/open_dataset.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

TEST(RateRange, ReadsListsAndRanges) {
  EXPECT_EQ(RateRange::parse("0.1,1e-3,1").list, (std::vector<double>{1e-3, 0.1, 1}));
  const RateRange range = RateRange::parse("1e-6:1:2");
  EXPECT_TRUE(range.list.empty());
  EXPECT_EQ(range.from, 1e-6);
  EXPECT_EQ(range.to, 1);
  EXPECT_EQ(range.per_decade, 2U);
  EXPECT_EQ(RateRange::parse("1e-3:1e-1").per_decade, 1U);
}

TEST(RateRange, RefusesGarbage) {
  for (const auto* text : {"",           ",",        "x",         "1,",      "0",        "-1",    "inf", "nan",
                           "1,1",        ":",        "1:",        ":1",      "1:x",      "1:0.1", "0:1", "1e-3:1:0",
                           "1e-3:1:101", "1e-3:1:x", "1e-3:1:-1", "1:2:3:4", "1e-3:inf", "0.1;1", " 1"}) {
    EXPECT_THROW(RateRange::parse(text), InvalidArgument) << text;
  }
}

TEST(Duration, ReadsTimes) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("10m"), 600);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  for (const auto* text : {"", "s", "10", "10x", "-1s", "0s", "infs", "nanm", "1 h", "1h30m", "h1"}) {
    EXPECT_THROW(parse_duration(text), InvalidArgument) << text;
  }
}

TEST(Duration, IsWordedForPeople) {
  const std::vector<std::pair<double, std::string>> cases{
      {0, "0 s"},          {0.512, "0.51 s"}, {9.999, "10 s"},      {42.4, "42 s"},      {59.7, "1 min"},
      {200, "3 min 20 s"}, {3599.6, "1 h"},   {4800, "1 h 20 min"}, {7500, "2 h 5 min"}, {360'000, "100 h"},
      {-1, "n/a"},         {1e300, "n/a"},    {std::nan(""), "n/a"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(duration_text(seconds), text);
}

// Nothing is lost but seconds of more than an hour.
TEST(Duration, SaysWhatItIs) {
  RandomStream stream(1, "durations");
  for (int i = 0; i < 1000; ++i) {
    const double seconds = std::pow(10, 6 * stream.uniform());
    double read = 0;
    std::istringstream words(duration_text(seconds));
    double count = 0;
    for (std::string unit; words >> count >> unit;) read += count * (unit == "h" ? 3600 : unit == "min" ? 60 : 1);
    EXPECT_NEAR(read, seconds, seconds < 10 ? 0.0051 : seconds < 3599.5 ? 0.51 : 60.5) << duration_text(seconds);
  }
}

TEST(Optimizers, AreReadByName) {
  EXPECT_EQ(parse_optimizers("sgd,adam-ignd"), (std::vector<std::string>{"sgd", "adam-ignd"}));
  const std::string pair = "gauss-newton:eps_c=1e+2,eps_lm=1e-3+adam:beta1=0.8,beta2=0.99";
  EXPECT_EQ(parse_optimizers("sgd," + pair + ",ignd"), (std::vector<std::string>{"sgd", pair, "ignd"}));
  EXPECT_EQ(find_optimizer(pair).rule, "gauss-newton:eps_c=1e+2,eps_lm=1e-3");
  EXPECT_EQ(find_optimizer(pair).transform, "adam:beta1=0.8,beta2=0.99");
  for (const auto* text : {"", ",", "sgd,", "sgd,sgd", "sgdd", "sgd adam", "sgd,eps=1", "gradient+", "+adam",
                           "gradient+adan", "gradient+adam:beta3=1", "gradient+adam,gradient+adam", "a=b"}) {
    EXPECT_THROW(parse_optimizers(text), InvalidArgument) << text;
  }
}

class StudyBudgetTest : public ::testing::Test {
 protected:
  StudyBudgetTest() {
    std::ofstream file(scratch_ / "a \"b\".csv");
    RandomStream stream(1, "rows");
    file << "a,\"the \\ \"\"y\"\"\"\n";
    for (int i = 0; i < 100; ++i) file << stream.normal() << "," << stream.normal() << "\n";
  }

  OptimizerStudy study() const {
    OptimizerStudy made;
    made.spec.data.path = (scratch_ / "a \"b\".csv").string();
    made.spec.checksum = sha256_of_file(made.spec.data.path);
    made.spec.dataset.target = "the \\ \"y\"";
    made.optimizers = {"sgd", "ignd", "adam"};
    made.rates = RateRange::parse("1e-6:1:2");
    made.seeds = 5;
    return made;
  }

  Experiment experiment(const OptimizerStudy& study) const {
    return make_experiment(study, *open_table(study.spec), "e");
  }

  testing::ScratchFolder scratch_;
};

TEST_F(StudyBudgetTest, AStudyIsAnExperimentAndItsPrintOutTheSame) {
  OptimizerStudy made = study();
  made.note = "something\nwas \"left\" out";
  made.optimizers.emplace_back("gauss-newton:eps_lm=0.001+momentum");
  const std::string printed = print_experiment(experiment(made));
  EXPECT_EQ(print_experiment(parse_experiment(printed, "e", {})), printed);
  EXPECT_EQ(count_runs(parse_experiment(printed, "e", {})), count_runs(experiment(made)));
  made.optimizers.pop_back();
  for (const Experiment& read : {experiment(made), parse_experiment(print_experiment(experiment(made)), "e", {})}) {
    EXPECT_EQ(read.seeds, 5U);
    EXPECT_EQ(read.search.rates.size(), 13U);
    EXPECT_TRUE(read.search.by_validation);
    EXPECT_EQ(read.comparisons.size(), 3U);
    ASSERT_EQ(read.panels.size(), 1U);
    EXPECT_EQ(read.panels[0].note, made.note);
    ASSERT_EQ(read.panels[0].methods.size(), 5U);
    for (const Method& method : read.panels[0].methods) {
      RunSpec asked = made.spec;
      asked.model = method.settings.word("model");
      EXPECT_EQ(method.settings, settings_of(asked));
      EXPECT_EQ(method.rate.has_value(), asked.is_baseline());
    }
  }
}

TEST_F(StudyBudgetTest, AConstantIsCalledTheBestOnlyWhereItIs) {
  for (const auto& [loss, name] : {std::pair{"squared", "best constant"}, std::pair{"huber:delta=1", "the mean"},
                                   std::pair{"pinball:tau=0.9", "the mean"}, std::pair{"log-cosh", "the mean"}}) {
    OptimizerStudy made = study();
    made.spec.dataset.loss = loss;
    EXPECT_EQ(experiment(made).panels[0].methods.back().name, name) << loss;
  }
}

TEST_F(StudyBudgetTest, FewerRatesThenFewerSeedsFit) {
  const StudyCosts costs{.run = {1, 2, 3}, .baselines = 4, .preparing = 0};
  const double whole = 5 * (13 * 6 + 4);
  EXPECT_EQ(estimated_seconds(study(), costs, 1), whole);
  struct Case {
    double budget;
    std::uint64_t per_decade, seeds;
  };
  for (const auto& [budget, per_decade, seeds] : {Case{whole, 2, 5}, Case{whole - 1, 1, 5}, Case{5 * 46, 1, 5},
                                                  Case{5 * 46 - 1, 1, 4}, Case{3 * 46, 1, 3}, Case{1, 1, 3}}) {
    const OptimizerStudy made = within_budget(study(), costs, 1, budget);
    EXPECT_EQ(made.rates.per_decade, per_decade) << budget;
    EXPECT_EQ(made.seeds, seeds) << budget;
    EXPECT_EQ(made.note.empty(), budget == whole) << made.note;
    EXPECT_EQ(testing::contains(made.note, "Even so"), budget < 3 * 46) << made.note;
    EXPECT_EQ(testing::contains(made.note, "6 of 13 rates"), per_decade == 1) << made.note;
    EXPECT_EQ(testing::contains(made.note, " of 5 seeds"), seeds < 5) << made.note;
  }
}

TEST_F(StudyBudgetTest, AListAndFewSeedsAreLeftAlone) {
  const StudyCosts costs{.run = {1, 2, 3}, .baselines = 4, .preparing = 0};
  OptimizerStudy small = study();
  small.rates = RateRange::parse("0.1,1");
  small.seeds = 2;
  const OptimizerStudy made = within_budget(small, costs, 1, 1);
  EXPECT_EQ(made.rates.list, small.rates.list);
  EXPECT_EQ(made.seeds, 2U);
  EXPECT_FALSE(testing::contains(made.note, "left out"));
}

TEST_F(StudyBudgetTest, TheEstimateCountsTheRunsThatThereAre) {
  RandomStream stream(1, "ranges");
  OptimizerStudy made = study();
  for (int i = 0; i < 50; ++i) {
    const double from = std::pow(10, -6 * stream.uniform());
    const double to = stream.below(4) == 0 ? from : from * std::pow(10, 4 * stream.uniform());
    made.rates = RateRange::parse(fmt::format("{:.3e}:{:.3e}:{}", from, std::max(to, from), 1 + stream.below(5)));
    made.seeds = 1 + stream.below(4);
    const StudyCosts costs{.run = {1, 1, 1}, .baselines = 2, .preparing = 0};
    EXPECT_EQ(estimated_seconds(made, costs, 1), static_cast<double>(count_runs(experiment(made))))
        << made.rates.from << " to " << made.rates.to;
  }
}

TEST_F(StudyBudgetTest, CostsAreMeasured) {
  OptimizerStudy made = study();
  const StudyCosts costs = measure_costs(made, *open_table(made.spec), 2);
  ASSERT_EQ(costs.run.size(), 3U);
  for (const double run : costs.run) EXPECT_GT(run, 0);
  EXPECT_GT(costs.baselines, 0);
}

}  // namespace
}  // namespace ignd
