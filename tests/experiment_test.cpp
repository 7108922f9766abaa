#include "lab/experiment.hpp"

#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "lab/plan.hpp"
#include "run_tool.hpp"

#include <cmath>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;

const std::string good = R"(
title = "A title"
question = "A question?"
description = "Words."
paper = "figure 7"
task = "frozen-lake"
seeds = 20
x-label = "episode"
metric = { label = "return", better = "higher" }
columns = ["early"]
compare = [["IGNDQ", "QL"]]

[settings]
episodes = 50

[search]
rates = { from = 1e-3, to = 1, per-decade = 2 }
choose-by = "tuning-seeds"
tuning-seeds = 4

[quick]
seeds = 2
tuning-seeds = 1
per-decade = 1
settings = { episodes = 10 }

[[panel]]
name = "first"
title = "The first"
settings = { gamma = 0.9 }

[[panel.method]]
name = "QL"
optimizer = "sgd"
rate = 0.5
paper = { mean = 0.25, std = 0.01 }

[[panel.method]]
name = "IGNDQ"
rule = "gauss-newton"
transform = "plain"
settings = { gamma = 0.8, scales = "random" }
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<std::string> faults_of(const std::string& text) {
  try {
    parse_experiment(text, "test", {});
    return {};
  } catch (const InvalidArgument& fault) {
    std::vector<std::string> lines;
    std::istringstream stream(fault.what());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
}

TEST(Experiment, ReadsAFile) {
  const Experiment made = parse_experiment(good, "test", {});
  EXPECT_EQ(made.name, "test");
  EXPECT_EQ(made.title, "A title");
  EXPECT_EQ(made.paper, "figure 7");
  EXPECT_EQ(made.seeds, 20U);
  EXPECT_TRUE(made.metric.higher_is_better);
  EXPECT_FALSE(made.metric.log_scale);
  EXPECT_EQ(made.figures, std::vector{FigureKind::curves});
  EXPECT_FALSE(made.preview);
  ASSERT_EQ(made.panels.size(), 1U);
  const auto& methods = made.panels[0].methods;
  ASSERT_EQ(methods.size(), 2U);
  EXPECT_EQ(methods[0].rate, 0.5);
  EXPECT_EQ(methods[0].paper_mean, 0.25);
  EXPECT_EQ(methods[0].optimizer.rule, "gradient");
  EXPECT_FALSE(methods[1].rate);
  EXPECT_EQ(methods[1].optimizer.rule, "gauss-newton");
}

TEST(Experiment, SettingsComeInLayers) {
  const Experiment made = parse_experiment(good, "test", {});
  const auto& methods = made.panels[0].methods;
  EXPECT_EQ(methods[0].settings.count("episodes"), 50U);  // of the file
  EXPECT_EQ(methods[0].settings.number("gamma"), 0.9);    // of the panel
  EXPECT_EQ(methods[1].settings.number("gamma"), 0.8);    // of the method
  EXPECT_EQ(methods[0].settings.word("scales"), "one");   // the default
  EXPECT_EQ(methods[1].settings.word("scales"), "random");
  const Experiment quick = parse_experiment(good, "test", {.quick = true, .seeds = {}});
  EXPECT_EQ(quick.panels[0].methods[0].settings.count("episodes"), 10U);
}

TEST(Experiment, MethodsOfTheFileAreLinesOfEveryPanel) {
  const std::string shared = R"(
[[method]]
name = "shared"
optimizer = "ignd"
rate = 0.25
)";
  const std::size_t at = good.find("[[panel]]");
  const Experiment made = parse_experiment(good.substr(0, at) + shared + good.substr(at), "test", {});
  const auto& methods = made.panels[0].methods;
  ASSERT_EQ(methods.size(), 3U);
  EXPECT_EQ(methods[0].name, "shared");
  EXPECT_EQ(methods[0].settings.number("gamma"), 0.9);  // of the panel
  // A panel needs none of its own then, but one there must be.
  const std::string panel = good.substr(at, good.find("[[panel.method]]") - at);
  const std::string head = replaced(good.substr(0, at), "compare = [[\"IGNDQ\", \"QL\"]]\n", "");
  EXPECT_EQ(parse_experiment(head + shared + panel, "test", {}).panels[0].methods.size(), 1U);
  EXPECT_EQ(faults_of(head + panel), std::vector<std::string>{"line 26: a panel has no method"});
}

TEST(Experiment, AFigureOverSecondsNeedsRunsThatTimeThemselves) {
  const std::string file = replaced(good, "columns = [\"early\"]", "figures = [\"seconds\"]");
  EXPECT_EQ(faults_of(file), std::vector<std::string>{"line 10: a figure of seconds needs the column 'seconds', which "
                                                      "runs of the task 'frozen-lake' do not have"});
}

TEST(Experiment, AFigureOfRatesNeedsASearchThatTriesThemAlike) {
  const std::string file = replaced(good, "columns = [\"early\"]", "figures = [\"rates\"]");
  EXPECT_EQ(parse_experiment(file, "test", {}).figures, std::vector{FigureKind::rates});
  const std::string rungs = replaced(file, "[quick]", "[[search.rung]]\nsettings = { episodes = 5 }\n\n[quick]");
  EXPECT_EQ(faults_of(rungs),
            std::vector<std::string>{"line 10: a figure of rates needs all rates tried alike, but the "
                                     "search has rungs"});
  std::string given = file.substr(0, file.find("[search]")) + file.substr(file.find("[[panel]]"));
  given = replaced(given, "rule = \"gauss-newton\"", "rate = 1\nrule = \"gauss-newton\"");
  EXPECT_EQ(faults_of(given), std::vector<std::string>{"line 10: a figure of rates needs a [search]"});
}

TEST(Experiment, EachFigureHasOneRow) {
  for (const FigureInfo& figure : figure_table()) EXPECT_EQ(&figure_info(figure.kind), &figure) << figure.name;
}

TEST(Experiment, SettingsAreSearchedForInEveryCombination) {
  const auto varied = [](const std::string& vary) {
    return parse_experiment(replaced(good, "transform = \"plain\"", "transform = \"plain\"\nvary = " + vary), "test",
                            {});
  };
  const Experiment made = varied("{ gamma = [0.5, 0.75], episodes = [1, 2, 3] }");
  const Method& method = made.panels[0].methods[1];
  ASSERT_EQ(method.variants.size(), 6U);
  std::set<std::string> labels, runs;
  for (const Method& variant : method.variants) {
    labels.insert(variant.setting);
    runs.insert(search_runs(made, variant, 1)[0].text());
  }
  EXPECT_EQ(runs.size(), 6U);
  EXPECT_TRUE(labels.contains("episodes 3, gamma 0.75"));
  EXPECT_EQ(method.settings.number("gamma"), 0.5);
  EXPECT_THROW(varied("{ gamma = 0.5 }"), InvalidArgument);
  EXPECT_THROW(varied("{ gamma = [] }"), InvalidArgument);
  EXPECT_THROW(varied("{ gamma = [\"x\"] }"), InvalidArgument);
  EXPECT_THROW(varied("{ gama = [0.5] }"), InvalidArgument);
  const auto fault_of = [](const std::string& vary) {
    return faults_of(replaced(good, "transform = \"plain\"", "transform = \"plain\"\nvary = " + vary));
  };
  EXPECT_EQ(fault_of("{ gamma = [0.5, 7] }"),
            std::vector<std::string>{"line 42: the setting 'gamma' is 7, but must be between 0 and 1"});
  EXPECT_EQ(fault_of("{ gamma = [0.5, 0.5] }"), std::vector<std::string>{"line 42: 'vary' has 'gamma 0.5' twice"});
  EXPECT_EQ(varied("{ slippery = [true, false] }").panels[0].methods[1].variants[1].setting, "slippery false");
}

// Options of the rule and the transform of the method IGNDQ.
std::string with_line(const std::string& line) {
  const std::string file = replaced(good, "compare = [[\"IGNDQ\", \"QL\"]]", "");
  return replaced(file, "transform = \"plain\"", "transform = \"momentum:beta=0.5\"\n" + line);
}

TEST(Experiment, OptionsOfTheOptimizerAreSearchedForLikeSettings) {
  const Experiment made = parse_experiment(
      with_line("vary = { rule.eps_lm = [1e-5, 0, 1], transform.beta = [0.5, 0.9], gamma = [0.5] }"), "test", {});
  const Method& method = made.panels[0].methods[1];
  ASSERT_EQ(method.variants.size(), 6U);
  std::set<std::string> labels, runs;
  for (const Method& variant : method.variants) {
    labels.insert(variant.setting);
    const RunConfig run = search_runs(made, variant, 1)[0];
    runs.insert(run.text());
    // What was asked for is what the parts have, as they themselves say.
    const std::string eps_lm = variant.varied.at("rule.eps_lm"), beta = variant.varied.at("transform.beta");
    EXPECT_EQ(make_step_rule(run.optimizer.rule)->damping()->eps_lm, std::stod(eps_lm));
    EXPECT_TRUE(contains(make_transform<double>(run.optimizer.transform)->spec(), "beta=" + beta));
    EXPECT_EQ(run.settings.number("gamma"), 0.5);
  }
  EXPECT_EQ(runs.size(), 6U);
  EXPECT_TRUE(labels.contains("gamma 0.5, rule.eps_lm 1, transform.beta 0.9"));
  // The default value is the run that a method without the option has.
  EXPECT_EQ(method.variants[0].optimizer.rule, "gauss-newton");
  EXPECT_EQ(method.variants[0].optimizer.transform, "momentum:beta=0.5");
  EXPECT_EQ(method.optimizer.rule, method.variants[0].optimizer.rule);
}

TEST(Experiment, OptionsThatAPartDoesNotHaveAreRefused) {
  const auto fault_of = [](const std::string& vary) { return faults_of(with_line("vary = " + vary)); };
  EXPECT_EQ(fault_of("{ rule.eps_lmm = [0, 1] }"),
            (std::vector<std::string>{
                "line 42: step rule 'gauss-newton:eps_lmm=0': it has no option 'eps_lmm', did you mean 'eps_lm'?",
                "line 42: step rule 'gauss-newton:eps_lmm=1': it has no option 'eps_lmm', did you mean 'eps_lm'?"}));
  EXPECT_EQ(fault_of("{ rule.eps_lm = [-1] }").size(), 1U);
  EXPECT_EQ(fault_of("{ transform.beta = [2] }").size(), 1U);
  EXPECT_EQ(fault_of("{ rule.eps_lm = 1 }"),
            std::vector<std::string>{"line 42: 'vary' needs a list of values for 'rule.eps_lm'"});
  EXPECT_EQ(fault_of("{ rule = [1] }"),
            std::vector<std::string>{"line 42: the task 'frozen-lake' has no setting 'rule'"});
  EXPECT_EQ(fault_of("{ rule.eps_c = [\"auto,eps_lm=1\"] }"),
            std::vector<std::string>{"line 42: the option 'rule.eps_c' cannot be 'auto,eps_lm=1'"});
  EXPECT_TRUE(fault_of("{ rule.eps_c = [\"auto\", 0.1] }").empty());
}

TEST(Experiment, EachValueIsAMethodOfItsOwn) {
  const Experiment made =
      parse_experiment(with_line("each = { rule.eps_lm = [0, 1], gamma = [0.5, 0.75] }"), "test", {});
  const auto& methods = made.panels[0].methods;
  ASSERT_EQ(methods.size(), 5U);
  std::set<std::string> runs;
  for (std::size_t k = 1; k < methods.size(); ++k) {
    EXPECT_TRUE(methods[k].variants.empty());
    EXPECT_TRUE(methods[k].name.starts_with("IGNDQ, gamma 0."));
    runs.insert(reported_runs(made, methods[k], 1)[0].text());
  }
  EXPECT_EQ(runs.size(), 4U);
  EXPECT_EQ(methods[4].name, "IGNDQ, gamma 0.75, rule.eps_lm 1");
  EXPECT_EQ(methods[4].settings.number("gamma"), 0.75) << "above the method's own settings";
  EXPECT_EQ(methods[4].settings.word("scales"), "random");
  EXPECT_EQ(make_step_rule(methods[4].optimizer.rule)->damping()->eps_lm, 1);
  // Within each of them, others can be searched for.
  const Experiment both = parse_experiment(
      with_line("each = { rule.eps_lm = [0, 1] }\nvary = { transform.beta = [0.5, 0.9] }"), "test", {});
  ASSERT_EQ(both.panels[0].methods.size(), 3U);
  for (const Method& variant : both.panels[0].methods[2].variants) {
    EXPECT_EQ(make_step_rule(variant.optimizer.rule)->damping()->eps_lm, 1);
  }
  EXPECT_EQ(faults_of(with_line("each = { gama = [0.5] }")),
            std::vector<std::string>{"line 42: the task 'frozen-lake' has no setting 'gama', did you mean 'gamma'?"});
  EXPECT_EQ(faults_of(with_line("each = { gamma = [0.5, 0.5] }")).size(), 2U) << "the values, and the names";
}

TEST(Experiment, TheSameValueIsTheSameRunHoweverItIsWritten) {
  const auto text_of = [](const std::string& file) {
    const Experiment made = parse_experiment(file, "test", {});
    return reported_runs(made, made.panels[0].methods[0], 0.5)[0].text();
  };
  EXPECT_EQ(text_of(good), text_of(replaced(good, "gamma = 0.9 ", "gamma = 9e-1 ")));
  EXPECT_EQ(text_of(good), text_of(replaced(good, "gamma = 0.9 ", "gamma = 0.9, tie-tolerance = 0.001 ")));
  EXPECT_NE(text_of(good), text_of(replaced(good, "gamma = 0.9 ", "gamma = 0.91 ")));
}

TEST(Experiment, RatesOfARangeAreEvenlySpacedPowersOfTen) {
  const auto rates = parse_experiment(good, "test", {}).search.rates;
  ASSERT_EQ(rates.size(), 7U);
  for (std::size_t k = 0; k < rates.size(); ++k) {
    EXPECT_NEAR(std::log10(rates[k]), -3 + 0.5 * static_cast<double>(k), 1e-3);
  }
  EXPECT_EQ(rates.front(), 1e-3);
  EXPECT_EQ(rates.back(), 1);
  const auto coarse = parse_experiment(good, "test", {.quick = true, .seeds = {}}).search.rates;
  EXPECT_EQ(coarse, (std::vector<double>{1e-3, 1e-2, 1e-1, 1}));
  const auto odd = replaced(good, "to = 1,", "to = 0.5,");
  EXPECT_EQ(parse_experiment(odd, "test", {}).search.rates.back(), 0.5);
  const auto single = replaced(good, "to = 1,", "to = 1e-3,");
  EXPECT_EQ(parse_experiment(single, "test", {}).search.rates, std::vector<double>{1e-3});
  const auto listed = replaced(good, "{ from = 1e-3, to = 1, per-decade = 2 }", "[0.5, 0.125, 3]");
  EXPECT_EQ(parse_experiment(listed, "test", {}).search.rates, (std::vector<double>{0.125, 0.5, 3}));
}

TEST(Experiment, AQuickOneIsAPreviewWithFewerSeeds) {
  const Experiment made = parse_experiment(good, "test", {.quick = true, .seeds = {}});
  EXPECT_TRUE(made.preview);
  EXPECT_EQ(made.seeds, 2U);
  EXPECT_EQ(made.search.tuning_seeds, 1U);
  EXPECT_EQ(parse_experiment(good, "test", {.quick = true, .seeds = 7}).seeds, 7U);
  EXPECT_EQ(parse_experiment(good, "test", {.quick = false, .seeds = 7}).seeds, 7U);
}

TEST(Experiment, CountsEveryRunOnce) {
  // 20 of the given rate; 7 rates x 4 tuning seeds, then 20 at the one that is chosen.
  EXPECT_EQ(count_runs(parse_experiment(good, "test", {})), 20U + 28U + 20U);
  Experiment by_validation = parse_experiment(good, "test", {});
  by_validation.search.by_validation = true;
  EXPECT_EQ(count_runs(by_validation), 20U + 7U * 20U);
}

TEST(Experiment, TuningSeedsAreNotThoseThatAreReported) {
  const Experiment made = parse_experiment(good, "test", {.quick = false, .seeds = 1000});
  const Method& method = made.panels[0].methods[1];
  std::set<std::uint64_t> reported;
  for (const RunConfig& run : reported_runs(made, method, 1)) reported.insert(run.seed);
  for (const RunConfig& run : search_runs(made, method, 1)) EXPECT_FALSE(reported.contains(run.seed));
}

const std::string rungs = R"(
[[search.rung]]
settings = { episodes = 5, gamma = 0.7 }
keep = 3
[[search.rung]]
keep = 3
[[search.rung]]
settings = { episodes = 20 }

[quick])";
const std::string in_rungs = replaced(good, "\n[quick]", rungs);

TEST(Experiment, ReadsTheRungsOfASearch) {
  const Experiment made = parse_experiment(in_rungs, "test", {});
  EXPECT_EQ(made.search.keep, (std::vector<std::uint64_t>{3, 3, 1}));
  EXPECT_EQ(made.search.tuning_seeds, 4U);
  const auto& methods = made.panels[0].methods;
  EXPECT_TRUE(methods[0].rungs.empty()) << "its rate is given";
  ASSERT_EQ(methods[1].rungs.size(), 3U);
  const auto values = [&](const Experiment& experiment) {
    std::vector<std::pair<std::uint64_t, double>> read;
    for (const Settings& settings : experiment.panels[0].methods[1].rungs) {
      read.emplace_back(settings.count("episodes"), settings.number("gamma"));
      EXPECT_EQ(settings.word("scales"), "random") << "of the method";
    }
    return read;
  };
  using Values = std::vector<std::pair<std::uint64_t, double>>;
  EXPECT_EQ(values(made), (Values{{5, 0.7}, {50, 0.8}, {20, 0.8}}));
  EXPECT_EQ(methods[1].settings.count("episodes"), 50U);
  const Experiment quick = parse_experiment(in_rungs, "test", {.quick = true, .seeds = {}});
  EXPECT_EQ(values(quick), (Values{{10, 0.7}, {10, 0.8}, {10, 0.8}}));
  EXPECT_EQ(quick.search.tuning_seeds, 1U);
  EXPECT_TRUE(parse_experiment(good, "test", {}).search.keep.empty());
}

TEST(Experiment, CountsTheRunsOfRungs) {
  // 20 of the given rate; 7 rates, then 3, then 3, of 4 tuning seeds each; then 20 at the one that is chosen.
  EXPECT_EQ(count_runs(parse_experiment(in_rungs, "test", {})), 20U + 28U + 12U + 12U + 20U);
  Experiment by_validation = parse_experiment(in_rungs, "test", {});
  by_validation.search.by_validation = true;
  EXPECT_EQ(count_runs(by_validation), 20U + 28U + 12U + 12U + 20U);
}

TEST(Experiment, EveryFaultOfARungIsFound) {
  const std::vector<std::pair<std::string, std::string>> changes{
      {"keep = 3", "keep = 2"},  // after which the next keeps more
      {"keep = 3", "keep = 0"},
      {"keep = 3", "keep = -1"},
      {"keep = 3", "keep = 1.5"},
      {"keep = 3", "keep = \"all\""},
      {"keep = 3", ""},
      {"keep = 3", "kepe = 3"},
      {"settings = { episodes = 20 }", "keep = 2"},  // of the last one
      {"settings = { episodes = 20 }", "settings = { episoeds = 20 }"},
      {"settings = { episodes = 20 }", "settings = { episodes = 0 }"},
      {"settings = { episodes = 20 }", "settings = 20"},
      {"settings = { episodes = 20 }", "settings = { map = \"SFF/FF\" }"},
      {"tuning-seeds = 4", ""},
      {"choose-by = \"tuning-seeds\"", "choose-by = \"validation\""},
      {"columns = [\"early\"]", "figures = [\"rates\"]"},
  };
  for (const auto& [from, to] : changes) {
    const auto faults = faults_of(replaced(in_rungs, from, to));
    EXPECT_FALSE(faults.empty()) << from << " " << to;
    for (const auto& fault : faults) EXPECT_TRUE(fault.starts_with("line ")) << fault;
  }
  for (const auto* rung : {"rung = 3", "rung = [1]", "rung = \"x\"", "rung = { keep = 1 }", "rung = [[{}]]"}) {
    EXPECT_FALSE(faults_of(replaced(good, "tuning-seeds = 4", std::string("tuning-seeds = 4\n") + rung)).empty())
        << rung;
  }
  EXPECT_EQ(faults_of(in_rungs), std::vector<std::string>{});
}

TEST(Experiment, ByValidationRungsHaveTuningSeedsToo) {
  std::string text = replaced(in_rungs, "task = \"frozen-lake\"", "task = \"training\"");
  text = replaced(text, "columns = [\"early\"]", "");
  text = replaced(text, "choose-by = \"tuning-seeds\"", "choose-by = \"validation\"");
  for (const auto* settings : {"episodes = 50", "{ episodes = 5, gamma = 0.7 }", "{ episodes = 20 }",
                               "{ episodes = 10 }", "{ gamma = 0.9 }", "{ gamma = 0.8, scales = \"random\" }"}) {
    text = replaced(text, settings,
                    settings[0] == '{' ? "{ epochs = 1 }" : "epochs = 2\ndata = \"diamonds\"\ntarget = \"price\"");
  }
  const Experiment made = parse_experiment(text, "test", {});
  EXPECT_TRUE(made.search.by_validation);
  EXPECT_EQ(made.search.tuning_seeds, 4U);
  for (const RunConfig& run : search_runs(made, made.panels[0].methods[1], 1, 2)) EXPECT_GT(run.seed, most_seeds);
  const auto faults = faults_of(replaced(text, "tuning-seeds = 4", ""));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(contains(faults[0], "needs 'tuning-seeds'")) << faults[0];
}

TEST(Experiment, AllFaultsAreListedWithTheirLines) {
  std::string bad = replaced(good, "title = \"A title\"", "titel = \"A title\"");
  bad = replaced(bad, "seeds = 20", "seeds = 0");
  bad = replaced(bad, "better = \"higher\"", "better = \"hihger\"");
  bad = replaced(bad, "episodes = 50", "episoeds = 50");
  bad = replaced(bad, "gamma = 0.9 ", "gamma = 1.5 ");
  bad = replaced(bad, "optimizer = \"sgd\"", "optimizer = \"sgdd\"");
  bad = replaced(bad, "[\"IGNDQ\", \"QL\"]", "[\"IGNDQ\", \"Q\"]");
  const auto faults = faults_of(bad);
  const std::string all = [&] {
    std::string text;
    for (const auto& fault : faults) text += fault + "\n";
    return text;
  }();
  EXPECT_EQ(faults.size(), 8U) << all;  // the title is both missing and misspelt
  for (const auto* part :
       {"has no 'title'", "unknown key 'titel', did you mean 'title'?", "line 7: 'seeds' must be a whole number",
        "'hihger'", "no setting 'episoeds', did you mean 'episodes'?", "'gamma' is 1.5, but must be between 0 and 1",
        "sgdd", "'compare' names 'Q', which is no method"}) {
    EXPECT_TRUE(contains(all, part)) << part << " is not in\n" << all;
  }
  for (const auto& fault : faults) EXPECT_TRUE(fault.starts_with("line ")) << fault;
}

TEST(Experiment, WhatIsWrongForAllMethodsIsSaidOnceWhereItStands) {
  const auto faults = faults_of(replaced(good, "gamma = 0.9 ", "map = \"SFF/FF\" "));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(contains(faults[0], "row 2 of the map has 2 letters")) << faults[0];
}

TEST(Experiment, WhereNeitherIsBetterThereIsNothingToSearch) {
  EXPECT_TRUE(parse_experiment(good, "test", {}).metric.is_contest);
  const std::string unranked = replaced(good, "better = \"higher\"", "better = \"neither\"");
  const auto faults = faults_of(replaced(unranked, "compare = [[\"IGNDQ\", \"QL\"]]", ""));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(contains(faults[0], "nothing to search or to compare by")) << faults[0];
}

TEST(Experiment, EveryFaultIsFound) {
  const std::vector<std::pair<std::string, std::string>> changes{
      {"task = \"frozen-lake\"", "task = \"frozen-leak\""},
      {"task = \"frozen-lake\"", ""},
      {"task = \"frozen-lake\"", "task = 3"},
      {"seeds = 20", "seeds = 2.5"},
      {"seeds = 20", "seeds = 1000000000000"},
      {"compare = [[\"IGNDQ\", \"QL\"]]", "compare = [[\"IGNDQ\", \"QL\", \"QL\"]]"},
      {"seeds = 20", "seeds = \"many\""},
      {"x-label = \"episode\"", "figures = \"yes\""},
      {"columns = [\"early\"]", "figures = [\"rate\"]"},
      {"columns = [\"early\"]", "by-default = \"fully\""},
      {"metric = { label = \"return\", better = \"higher\" }", ""},
      {"metric = { label = \"return\", better = \"higher\" }", "metric = 3"},
      {"better = \"higher\"", "better = \"neither\""},  // and yet there are pairs to compare
      {"columns = [\"early\"]", "columns = [3]"},
      {"compare = [[\"IGNDQ\", \"QL\"]]", "compare = [[\"IGNDQ\"]]"},
      {"compare = [[\"IGNDQ\", \"QL\"]]", "compare = [\"IGNDQ\", \"QL\"]"},
      {"episodes = 50", "episodes = 0"},
      {"episodes = 50", "episodes = true"},
      {"episodes = 50", "epsilon-episodes = 9007199254740993"},  // which no double is, and 0 is allowed
      {"episodes = 50", "initial-value = -9007199254740993"},
      {"episodes = 50", "episodes = 18446744073709551616"},
      {"seeds = 20", "seeds = 18446744073709551616"},
      {"seeds = 20", "seeds = 18446744073709551617"},  // 1, if it were cut to 64 bits
      {"episodes = 50", "slippery = 1"},
      {"episodes = 50", "map = \"9x9\""},
      {"from = 1e-3", "from = 0"},
      {"from = 1e-3", "from = 10"},
      {"from = 1e-3", "from = nan"},
      {"to = 1,", "to = inf,"},
      {"per-decade = 2", "per-decade = 1000"},
      {"{ from = 1e-3, to = 1, per-decade = 2 }", "[]"},
      {"{ from = 1e-3, to = 1, per-decade = 2 }", "[1, 1]"},
      {"{ from = 1e-3, to = 1, per-decade = 2 }", "[-1]"},
      {"{ from = 1e-3, to = 1, per-decade = 2 }", "[1, nan, 2]"},
      {"{ from = 1e-3, to = 1, per-decade = 2 }", "[\"1\"]"},
      {"choose-by = \"tuning-seeds\"", "choose-by = \"test\""},
      {"choose-by = \"tuning-seeds\"", "choose-by = \"validation\""},  // which this task does not have
      {"tuning-seeds = 4", ""},
      {"columns = [\"early\"]", "columns = [\"erly\"]"},
      {"name = \"first\"", "name = \"The First\""},
      {"name = \"first\"", "name = \"../first\""},
      {"rate = 0.5", "rate = -1"},
      {"rate = 0.5", "rate = nan"},
      {"rate = 0.5", "rate = \"auto\""},
      {"optimizer = \"sgd\"", ""},
      {"optimizer = \"sgd\"", "optimizer = \"sgd\"\nrule = \"gradient\""},
      {"rule = \"gauss-newton\"", "rule = \"newton\""},
      {"transform = \"plain\"", "transform = \"plane\""},
      {"name = \"IGNDQ\"", "name = \"QL\""},
      {"paper = { mean = 0.25, std = 0.01 }", "paper = { std = 0.01 }"},
      {"settings = { episodes = 10 }", "settings = { epochs = 10 }"},
      {"[quick]", "[quikc]"},
      {"[search]", "[serach]"},
      {"[[panel]]", "[panel]"},
      {"title = \"The first\"", "title = \"The first"},
  };
  for (const auto& [from, to] : changes) EXPECT_FALSE(faults_of(replaced(good, from, to)).empty()) << from << " " << to;
  EXPECT_FALSE(faults_of("").empty());
  EXPECT_FALSE(faults_of(std::string("\0\1\2", 3)).empty());
  EXPECT_FALSE(faults_of("[[panel]]").empty());
  EXPECT_EQ(faults_of(good), std::vector<std::string>{});
}

TEST(Experiment, NoPartOfAFileBreaksTheReader) {
  for (std::size_t length = 0; length < in_rungs.size(); ++length) faults_of(in_rungs.substr(0, length));
  for (std::size_t at = 0; at < in_rungs.size(); ++at) {
    for (const char c : {'"', '[', '=', '\n', '\0', '\xff'}) {
      std::string broken = in_rungs;
      broken[at] = c;
      faults_of(broken);
    }
  }
}

// Every experiment that comes with the program, as it is and quick.
TEST(Experiment, OurOwnFilesAreGood) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(IGND_SOURCE_DIR "/experiments")) {
    const std::string text = testing::content_of(entry.path());
    for (const bool quick : {false, true}) {
      EXPECT_NO_THROW(parse_experiment(text, entry.path().stem(), {.quick = quick, .seeds = {}})) << entry.path();
    }
    ++files;
  }
  EXPECT_GE(files, 2U);
}

// The paper's table 1 is that of the prediction changes; what methods reach is in table 2, and the curves in figures 1
// to 3.
TEST(Experiment, PlacesInThePaperAreThePapers) {
  std::size_t places = 0;
  for (const auto& entry : std::filesystem::directory_iterator(IGND_SOURCE_DIR "/experiments")) {
    const Experiment made = parse_experiment(testing::content_of(entry.path()), entry.path().stem(), {});
    if (made.paper.empty()) continue;
    ++places;
    EXPECT_EQ(contains(made.paper, "table 1"), made.task == "prediction-changes") << entry.path();
    for (const Panel& panel : made.panels) {
      for (const Method& method : panel.methods) {
        EXPECT_TRUE(!method.paper_mean || contains(made.paper, "table 2")) << entry.path();
      }
    }
  }
  EXPECT_EQ(places, 6U);
}

TEST(Experiment, TheDocumentationHasEveryKey) {
  const std::string page = testing::content_of(IGND_SOURCE_DIR "/docs/experiments.md");
  EXPECT_TRUE(contains(page, describe_experiment_keys())) << "docs/experiments.md must contain this text:\n"
                                                          << describe_experiment_keys();
}

}  // namespace
}  // namespace ignd
