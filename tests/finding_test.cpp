#include "report/finding.hpp"

#include "ignd/random.hpp"
#include "made_up_results.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;

const ScoreInfo lower{.label = "RMSE"};

// As good on the validation rows as on those of the test, unless that is given.
MethodResults with_scores(const std::string& name, const std::vector<double>& scores, bool searched = true,
                          std::optional<double> validation = {}) {
  std::vector<RunResult> runs;
  runs.reserve(scores.size());
  for (const double score : scores) runs.push_back(testing::scored_run(score));
  MethodResults method = testing::method_with(name, runs);
  if (!validation) validation = spread_of(scores).mean;
  const std::uint64_t n = scores.size();
  if (searched) method.search = {{0.01, n, n, 0, 0.0}, {0.1, n, n, 0, validation}, {1, n, n, n, {}}};
  return method;
}

PanelResults panel_of(std::vector<MethodResults> methods) {
  PanelResults panel;
  panel.methods = std::move(methods);
  return panel;
}

PairedDifference difference_of(const std::vector<double>& differences) {
  return compare(with_scores("a", differences), with_scores("b", std::vector<double>(differences.size(), 0)), lower);
}

// Both tails of Student's distribution beyond t, by adding up its density.
double tails(double t, double degrees) {
  const double scale =
      std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(degrees * std::numbers::pi);
  constexpr int steps = 20'000;
  double inside = 0;
  for (int k = 0; k < steps; ++k) {
    const double x = t * (k + 0.5) / steps;
    inside += scale * std::pow(1 + x * x / degrees, -(degrees + 1) / 2) * t / steps;
  }
  return 1 - 2 * inside;
}

TEST(ToldApart, IsStudentsTest) {
  RandomStream stream(1, "differences");
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t n = 2 + stream.below(30);
    std::vector<double> values;
    const double shift = 2 * stream.normal();
    for (std::size_t k = 0; k < n; ++k) values.push_back(shift + stream.normal());
    const PairedDifference difference = difference_of(values);
    const double t = std::abs(*difference.differences.mean) / *difference.standard_error;
    const double chance = tails(t, static_cast<double>(n - 1));
    if (std::abs(chance - 0.05) < 0.0005) continue;  // the quantiles have four digits
    EXPECT_EQ(told_apart(difference), chance < 0.05) << n << " " << t << " " << chance;
  }
}

TEST(ToldApart, NeedsTwoSeedsAndAllScores) {
  EXPECT_FALSE(told_apart(difference_of({})));
  EXPECT_FALSE(told_apart(difference_of({1})));
  EXPECT_FALSE(told_apart(difference_of({0, 0, 0})));
  EXPECT_TRUE(told_apart(difference_of({1, 1})));
  MethodResults failing = with_scores("a", {1, 1, 1});
  failing.runs[1].result = testing::failed_run(1);
  EXPECT_FALSE(told_apart(compare(failing, with_scores("b", {0, 0, 0}), lower)));
}

TEST(Recommendation, NamesAClearWinner) {
  const auto panel = panel_of({with_scores("sgd", {3.0, 3.1, 2.9}), with_scores("ignd", {1.0, 1.2, 1.1}),
                               with_scores("adam", {2.0, 2.1, 2.2}), with_scores("least squares", {9, 9, 9}, false)});
  const Recommendation made = recommend(panel, lower);
  ASSERT_NE(made.best, nullptr);
  EXPECT_EQ(made.best->name, "ignd");
  EXPECT_TRUE(
      made.sentence.starts_with("ignd at rate 0.1 is the best on the validation rows, and on the test rows its "
                                "RMSE is lower than that of adam, the next best, by 1"))
      << made.sentence;
  EXPECT_TRUE(contains(made.sentence, "standard error over 3 seeds")) << made.sentence;
  EXPECT_FALSE(contains(made.sentence, "least squares")) << made.sentence;
}

TEST(Recommendation, HigherCanBeBetter) {
  ScoreInfo higher{.label = "return", .higher_is_better = true};
  const auto panel =
      panel_of({with_scores("sgd", {1, 1.1}), with_scores("ignd", {5, 5.1}), with_scores("random", {6, 6.1}, false)});
  const Recommendation made = recommend(panel, higher);
  EXPECT_EQ(made.best->name, "ignd");
  EXPECT_TRUE(contains(made.sentence, "is higher than that of sgd")) << made.sentence;
  EXPECT_TRUE(contains(made.sentence, "even random is better, by 1")) << made.sentence;
}

TEST(Recommendation, SaysWhatCannotBeToldApart) {
  const auto panel = panel_of({with_scores("sgd", {1.0, 2.0, 3.0}), with_scores("ignd", {1.1, 1.7, 3.3}),
                               with_scores("adam", {9.0, 9.9, 11.0}), with_scores("linear", {0.9, 1.8, 3.0}, false),
                               with_scores("cubic", {1.4, 1.8, 3.2}, false)});
  const Recommendation made = recommend(panel, lower);
  EXPECT_EQ(made.best->name, "sgd");
  EXPECT_TRUE(contains(made.sentence, "but on the test rows it cannot be told apart from ignd (0.03")) << made.sentence;
  EXPECT_TRUE(contains(made.sentence, "even linear is as good: the difference is 0.1")) << made.sentence;
  EXPECT_TRUE(contains(made.sentence, "it cannot be told apart from cubic either")) << made.sentence;
}

TEST(Recommendation, IsNotMadeByTheTestRows) {
  const auto panel =
      panel_of({with_scores("sgd", {1.0, 1.1, 1.2}, true, 2.0), with_scores("ignd", {2, 2.1, 2}, true, 1.0),
                with_scores("adam", {2.1, 2, 2}, true, 3.0), with_scores("sps", {9, 9, 9.1}, true, 1.5)});
  const Recommendation made = recommend(panel, lower);
  EXPECT_EQ(made.best->name, "ignd");
  EXPECT_TRUE(
      contains(made.sentence, "ignd at rate 0.1 is the best on the validation rows, but on the test rows sgd (0.9"))
      << made.sentence;
  EXPECT_TRUE(contains(made.sentence, ") is better, and it cannot be told apart from adam (")) << made.sentence;
  EXPECT_FALSE(contains(made.sentence, "sps")) << made.sentence;
}

TEST(Recommendation, TheBestOnTheValidationRowsIsNotSaidToBeBestOnTheOthers) {
  RandomStream stream(2, "scores");
  for (int trial = 0; trial < 300; ++trial) {
    const bool higher = trial % 2 == 1;
    const ScoreInfo metric{.label = "score", .higher_is_better = higher};
    std::vector<MethodResults> methods;
    for (const char* name : {"a", "b", "c"}) {
      std::vector<double> scores(5);
      const double level = stream.normal();
      for (double& score : scores) score = level + 0.3 * stream.normal();
      methods.push_back(with_scores(name, scores, true, stream.normal()));
    }
    const auto sign = higher ? -1.0 : 1.0;
    const auto best = std::ranges::min_element(
        methods, {}, [&](const MethodResults& method) { return sign * *method.search[1].mean; });
    bool clear = true;
    for (const MethodResults& other : methods) {
      if (other.name == best->name) continue;
      const PairedDifference difference = compare(*best, other, metric);
      clear = clear && told_apart(difference) && sign * *difference.differences.mean < 0;
    }
    const PanelResults panel = panel_of(methods);
    const Recommendation made = recommend(panel, metric);
    EXPECT_EQ(made.best->name, best->name);
    EXPECT_EQ(contains(made.sentence, "validation rows, and on the test rows its score is"), clear) << made.sentence;
    EXPECT_EQ(contains(made.sentence, "validation rows, but on the test rows "), !clear) << made.sentence;
  }
}

TEST(Recommendation, ManagesWithLittle) {
  EXPECT_TRUE(recommend(panel_of({with_scores("sgd", {1, 2})}), lower)
                  .sentence.starts_with("the RMSE of sgd at rate 0.1 is 1.5"));
  const auto one_seed = panel_of({with_scores("sgd", {1}), with_scores("ignd", {2}), with_scores("c", {0.5}, false)});
  EXPECT_TRUE(contains(recommend(one_seed, lower).sentence, "one seed does not say"));
  EXPECT_TRUE(contains(recommend(one_seed, lower).sentence, "even c is better, by 0.5"));
  EXPECT_EQ(recommend(panel_of({}), lower).best, nullptr);
  EXPECT_EQ(recommend(panel_of({with_scores("c", {1, 2}, false)}), lower).best, nullptr);
  MethodResults none = with_scores("sgd", {});
  none.rate.reset();
  EXPECT_EQ(recommend(panel_of({none, with_scores("c", {1}, false)}), lower).best, nullptr);
}

MethodResults scored(const std::string& name, const std::vector<double>& scores) {
  std::vector<RunResult> runs;
  for (const double score : scores) runs.push_back(testing::scored_run(score));
  return testing::method_with(name, runs);
}

TEST(Finding, SaysWhoIsBestAndByHowMuch) {
  const auto panel =
      panel_of({scored("SGD", {3.0, 3.1, 2.9}), scored("IGND", {1.0, 1.2, 1.1}), scored("Adam", {2.0, 2.1, 2.2})});
  EXPECT_EQ(score_finding(panel, lower),
            "IGND has the lowest RMSE, 1.10 ± 0.10, better than Adam, the next, by 1.000 ± 0.058 (standard error over "
            "3 seeds). A paired test tells it apart from all others.");
  const ScoreInfo higher{.label = "return", .higher_is_better = true};
  EXPECT_TRUE(score_finding(panel, higher).starts_with("SGD has the highest return, 3.00 ± 0.10, better than Adam"));
}

TEST(Finding, SaysWhatATestCannotTellApart) {
  const auto panel = panel_of({scored("SGD", {1.0, 2.0, 3.0}), scored("IGND", {1.1, 1.7, 3.3}),
                               scored("Adam", {9.0, 9.9, 11.0}), scored("same", {1.0, 2.0, 3.0})});
  const std::string sentence = score_finding(panel, lower);
  EXPECT_TRUE(contains(sentence,
                       "SGD has the lowest RMSE, 2.0 ± 1.0, but a paired test cannot tell it apart from IGND "
                       "(0.03"))
      << sentence;
  EXPECT_TRUE(contains(sentence, "same (equal on every seed); it is better than the other.")) << sentence;
  EXPECT_EQ(clear_winner(panel, lower), nullptr);
}

TEST(Finding, CountsFactorsWhereLogarithmsAreCompared) {
  const ScoreInfo metric{.label = "error", .log_scale = true};
  const auto panel = panel_of({scored("QL", {1e-2, 2e-2, 1e-2}), scored("IGNDQ", {1e-8, 2e-8, 1e-8})});
  EXPECT_EQ(score_finding(panel, metric),
            "IGNDQ has the lowest error, geometric mean 1.3e-8, better than QL by a factor of 1e6. A paired test tells "
            "them apart.");
}

TEST(Finding, FailedRunsLose) {
  MethodResults failing = scored("QL", {0.1, 0.1, 0.1});
  failing.runs[1].result = testing::failed_run(1);
  const auto panel = panel_of({failing, scored("IGNDQ", {1.0, 1.2, 1.1})});
  EXPECT_EQ(score_finding(panel, lower), "IGNDQ has the lowest RMSE, 1.10 ± 0.10; the other failed in some runs.");
  ASSERT_NE(clear_winner(panel, lower), nullptr);
  EXPECT_EQ(clear_winner(panel, lower)->name, "IGNDQ");
}

TEST(Finding, IsSilentWhereThereIsNothingToCompare) {
  EXPECT_EQ(score_finding(panel_of({}), lower), "");
  EXPECT_EQ(score_finding(panel_of({scored("a", {1, 2})}), lower), "");
  EXPECT_EQ(score_finding(panel_of({scored("a", {}), scored("b", {1, 2})}), lower), "");
  EXPECT_TRUE(contains(score_finding(panel_of({scored("a", {1}), scored("b", {2})}), lower), "one seed does not say"));
  EXPECT_EQ(clear_winner(panel_of({scored("a", {1}), scored("b", {2})}), lower), nullptr);
  EXPECT_EQ(clear_winner(panel_of({scored("a", {1, 2})}), lower), nullptr);
}

TEST(Finding, WhereNeitherIsBetterNothingIsRanked) {
  const ScoreInfo metric{.label = "h", .log_scale = true, .is_contest = false};
  const auto panel = panel_of({scored("a", {1, 1.1, 1}), scored("b", {5, 5.1, 5})});
  EXPECT_EQ(score_finding(panel, metric), "");
  EXPECT_EQ(clear_winner(panel, metric), nullptr);
  FigurePanel drawn;
  drawn.lines = {{"SGD", "", {}, {{0, 1e-3, {}}, {1, 1e3, {}}}}, {"IGND", "", {}, {{0, 1, {}}, {1, 1.1, {}}}}};
  EXPECT_EQ(change_finding(drawn, metric),
            "SGD changes most along the panel, by a factor of 1e6; IGND least, by a factor of 1.1.");
  drawn.lines.resize(1);
  EXPECT_EQ(change_finding(drawn, metric), "");
}

// The winner is whom the test tells apart from all others, and only the best can be it.
TEST(Finding, OnlyAClearWinnerWins) {
  RandomStream stream(3, "winners");
  std::size_t winners = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const ScoreInfo metric{.label = "score", .higher_is_better = trial % 2 == 1};
    std::vector<MethodResults> methods;
    for (const char* name : {"a", "b", "c"}) {
      std::vector<double> scores(5);
      const double level = stream.normal();
      for (double& score : scores) score = level + 0.3 * stream.normal();
      methods.push_back(scored(name, scores));
    }
    const PanelResults panel = panel_of(methods);
    const MethodResults* winner = clear_winner(panel, metric);
    std::size_t beaten = 0;
    for (const MethodResults& one : panel.methods) {
      for (const MethodResults& other : panel.methods) {
        const PairedDifference difference = compare(one, other, metric);
        const double mean = difference.differences.mean.value_or(0);
        const bool ahead = metric.higher_is_better ? mean > 0 : mean < 0;
        if (winner == &one && &other != &one && told_apart(difference) && ahead) ++beaten;
      }
    }
    EXPECT_EQ(beaten, winner == nullptr ? 0U : 2U);
    EXPECT_EQ(contains(score_finding(panel, metric), "tells it apart from all others"), winner != nullptr);
    winners += winner != nullptr ? 1 : 0;
  }
  EXPECT_GT(winners, 50U);
  EXPECT_LT(winners, 450U);
}

TEST(Finding, OfRatesSaysWhichMethodNeedsTheLeastTuning) {
  const auto searched = [](const std::string& name, const std::vector<std::optional<double>>& means) {
    MethodResults method = testing::method_with(name, {});
    double rate = 1e-4;
    for (const auto& mean : means) {
      method.search.push_back({rate, 3, 3, mean ? 0U : 1U, mean});
      rate *= 10;
    }
    return method;
  };
  const auto panel = panel_of({searched("SGD", {5.0, 1.0, 1.2, {}, {}}), searched("IGND", {1.5, 1.02, 1.0, 1.04, 1.0}),
                               searched("none", {{}, {}}), testing::method_with("baseline", {})});
  EXPECT_EQ(rates_finding(panel, lower), "IGND stays within 5 % of its best RMSE from 0.001 to 1, SGD only at 0.001.");
  EXPECT_EQ(rates_finding(panel_of({}), lower), "");
  const ScoreInfo metric{.label = "error", .log_scale = true};
  EXPECT_EQ(rates_finding(panel_of({searched("IGND", {1e-5, 1e-7, 1.9e-7, 1e-6})}), metric),
            "IGND stays within a factor of 2 of its best error from 0.001 to 0.01.");
}

}  // namespace
}  // namespace ignd
