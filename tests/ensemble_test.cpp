#include "learn/ensemble.hpp"

#include "data/encoder.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/ensemble.hpp"
#include "ignd/error.hpp"
#include "ignd/gradient_check.hpp"
#include "ignd/linear.hpp"
#include "ignd/random.hpp"
#include "learn/rank_engine.hpp"
#include "learn/run_checks.hpp"
#include "learn/table_dataset.hpp"
#include "local_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

const std::atomic<bool> never = false;

std::vector<std::vector<double>> random_inputs(std::size_t count, std::size_t width) {
  RandomStream stream(3, "inputs");
  std::vector<std::vector<double>> inputs(count, std::vector<double>(width));
  for (auto& x : inputs) {
    for (double& value : x) value = stream.normal();
  }
  return inputs;
}

std::vector<double> outputs_of(const Model<double>& model, const std::vector<std::vector<double>>& inputs) {
  const auto batch = model.make_batch(inputs.size());
  std::vector<Input<double>> views;
  for (const auto& x : inputs) views.push_back({x});
  const auto outputs = batch->forward(views, nullptr);
  return {outputs.begin(), outputs.end()};
}

// The parts of an ensemble as models of their own.
std::vector<std::unique_ptr<Model<double>>> networks(std::size_t count, std::size_t outputs) {
  std::vector<std::unique_ptr<Model<double>>> made;
  for (std::size_t k = 0; k < count; ++k) {
    made.push_back(std::make_unique<Mlp<double>>(std::vector<std::size_t>{4, 6, 5},
                                                 MlpOptions{.seed = 10 + k, .outputs = outputs}));
  }
  return made;
}

std::unique_ptr<Model<double>> linear_model(std::size_t outputs) {
  auto made =
      make_model<double>(outputs == 1 ? "linear:features=4" : fmt::format("mlp:widths=4,outputs={}", outputs), 5);
  RandomStream stream(9, "linear");
  for (double& weight : made->parameters()) weight = stream.normal();
  return made;
}

TEST(Ensemble, ABlendIsTheWeightedSumOfItsParts) {
  for (const std::size_t outputs : {1U, 3U}) {
    const auto parts = networks(3, outputs);
    const auto linear = linear_model(outputs);
    const std::vector<double> shares{0.5, 0.2, -0.1};
    const auto blended = blend<double>(parts, shares, linear.get(), 0.4);
    const auto inputs = random_inputs(7, 4);
    std::vector<double> expected(7 * outputs);
    const auto add = [&](const Model<double>& model, double share) {
      const auto values = outputs_of(model, inputs);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += share * values[i];
    };
    for (std::size_t k = 0; k < 3; ++k) add(*parts[k], shares[k]);
    add(*linear, 0.4);
    const auto made = outputs_of(*blended, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-14 * 20);
  }
}

TEST(Ensemble, ItsSensitivitiesAreItsDerivatives) {
  for (const bool linear : {false, true}) {
    for (const std::size_t outputs : {1U, 2U}) {
      const Ensemble<double> model(
          {4, 5}, {.members = 3, .linear = linear, .network = {.activation = Activation::tanh, .outputs = outputs}});
      const DerivativeReport report = check_model<double>(model, 4);
      EXPECT_TRUE(report.ok) << report.text;
    }
  }
}

TEST(Ensemble, ASampleHasTheSameBitsAloneAndAmongOthers) {
  const Ensemble<float> model({5, 24, 24}, {.members = 4, .linear = true});
  RandomStream stream(1, "x");
  std::vector<std::vector<float>> rows(model.predicted_together(), std::vector<float>(5));
  std::vector<Input<float>> inputs;
  for (auto& row : rows) {
    for (float& x : row) x = static_cast<float>(stream.normal());
    inputs.push_back({row});
  }
  const auto together = model.make_batch(rows.size());
  const auto values = together->forward(inputs, nullptr);
  const auto alone = model.make_batch(1);
  for (std::size_t s = 0; s < rows.size(); ++s) EXPECT_EQ(alone->forward({&inputs[s], 1}, nullptr)[0], values[s]) << s;
}

TEST(Ensemble, IsMadeFromItsSpecAndRefusesWhatIsNone) {
  const Ensemble<float> model({3, 4}, {.members = 2, .linear = true, .network = {.seed = 7, .outputs = 3}});
  const auto again = make_model<float>(model.spec(), 7);
  EXPECT_EQ(again->spec(), model.spec());
  EXPECT_TRUE(std::ranges::equal(again->parameters(), model.parameters()));
  EXPECT_EQ(model.parameters().size(), 2U * (4 * 4 + 5 * 3) + 4 * 3);
  EXPECT_THROW(Trace<float>{model}, InvalidArgument);
  for (const char* spec : {"ensemble:members=0,widths=3x4", "ensemble:members=2", "ensemble:members=2,widths=0",
                           "ensemble:members=4000000000,widths=99999x99999", "ensemble:members=2,widths=3,linear=2"}) {
    EXPECT_THROW(make_model<float>(spec), InvalidArgument) << spec;
  }
  std::vector<std::unique_ptr<Model<double>>> unequal;
  unequal.push_back(make_model<double>("mlp:widths=3x4"));
  unequal.push_back(make_model<double>("mlp:widths=3x5"));
  const std::vector<double> shares{0.5, 0.5};
  EXPECT_THROW(blend<double>(unequal, shares), InvalidArgument);
  EXPECT_THROW(blend<double>(networks(3, 1), shares), InvalidArgument);
  const Linear<double> narrow(3);
  EXPECT_THROW(blend<double>(networks(2, 1), shares, &narrow, 0.5), InvalidArgument);
}

// The pieces.

TEST(Pieces, TakeAllValuesWhereTheyAreFewAndNoneWhereThereIsOne) {
  EXPECT_EQ(piece_edges({3, 1, 2, 2, 1}, 4), (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(piece_edges({1, 2, 2, 1}, 4).empty()) << "one piece is the number itself";
  EXPECT_TRUE(piece_edges({5, 5, 5}, 4).empty());
  EXPECT_TRUE(piece_edges({}, 4).empty());
  EXPECT_TRUE(piece_edges({1, 2, 3}, 0).empty());
}

TEST(Pieces, OfManyValuesHoldEquallyMany) {
  RandomStream stream(2, "values");
  std::vector<double> values(5000);
  for (double& x : values) x = std::exp(2 * stream.normal());
  const auto edges = piece_edges(values, 8);
  ASSERT_EQ(edges.size(), 9U);
  for (std::size_t k = 0; k < 8; ++k) {
    const auto inside = std::ranges::count_if(values, [&](double x) { return edges[k] <= x && x < edges[k + 1]; });
    EXPECT_NEAR(static_cast<double>(inside), 5000.0 / 8, 2) << k;
  }
}

// With plain quantiles one piece would be left to all values besides the common one.
TEST(Pieces, ACommonValueIsAnEdgeAndTheOthersShareTheRest) {
  RandomStream stream(2, "values");
  std::vector<double> values(1900, 0.0);
  for (int i = 0; i < 100; ++i) values.push_back(1 + stream.uniform());
  const auto edges = piece_edges(values, 8);
  ASSERT_GE(edges.size(), 8U);
  EXPECT_EQ(edges.front(), 0);
  EXPECT_GE(std::ranges::count_if(edges, [](double edge) { return edge >= 1; }), 7);
}

// The features, added up with the lengths of their pieces, are the number itself between the first and the last edge.
TEST(Pieces, TogetherSayWhereTheNumberIs) {
  std::string text = "x,z\n";
  RandomStream stream(4, "rows");
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{},{}\n", i % 10 == 0 ? "" : fmt::format("{}", stream.normal()), i);
  const Table table = Table::parse_csv(text, {.dialect = {.delimiter = ',', .header = true}});
  std::vector<std::uint32_t> rows(200);
  std::iota(rows.begin(), rows.end(), 0U);
  const Encoder fitted = Encoder::fit(table, std::vector<std::size_t>{0}, rows, {.pieces = 6});
  Checkpoint saved;
  fitted.save(saved);
  for (const Encoder& encoder : {fitted, Encoder::load(saved)}) {
    const ColumnCode& code = encoder.columns()[0];
    ASSERT_EQ(code.pieces(), 6U);
    ASSERT_EQ(encoder.features(), 1U + 6 + 1);
    for (std::size_t row = 0; row < table.size(); ++row) {
      std::vector<float> x(encoder.features());
      encoder.encode(table[row], encoder.match(table), x);
      const double value = table[row][0];
      if (std::isnan(value)) {
        EXPECT_EQ(x, (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 1}));
        continue;
      }
      double sum = code.edges.front();
      for (std::size_t k = 0; k < 6; ++k) sum += (x[1 + k] + 0.5) * (code.edges[k + 1] - code.edges[k]);
      EXPECT_NEAR(sum, std::clamp(value, code.edges.front(), code.edges.back()), 1e-5);
    }
  }
  Checkpoint broken = saved;
  std::vector<double> edges = fitted.columns()[0].edges;
  std::swap(edges[1], edges[2]);
  broken.set("column.0.edges", std::span<const double>(edges));
  EXPECT_THROW(Encoder::load(broken), FileError);
}

// Training.

Table curved_table(int rows) {
  std::string text = "a,b,kind,y,class\n";
  RandomStream stream(1, "rows");
  for (int i = 0; i < rows; ++i) {
    const double a = stream.normal(), b = stream.normal();
    text += fmt::format("{},{},{},{},{}\n", a, b, i % 3 == 0 ? "x" : "z", 5 + 3 * a - b * b + 0.1 * stream.normal(),
                        a + stream.normal() > 0 ? "yes" : "no");
  }
  return Table::parse_csv(text, {.dialect = {.delimiter = ',', .header = true}});
}

EnsemblePlan small_plan(std::uint64_t epochs) {
  TrainingOptions options{.model = "mlp:8", .epochs = epochs, .batch = BatchOptions{.size = 16}};
  options.rate = 0.01;
  EnsemblePlan plan{.members = 4, .network = options, .linear = options};
  plan.linear.model = "linear";
  return plan;
}

// Keeps the model, and what else an ensemble ends with.
class Watcher final : public EnsembleObserver {
 public:
  void begin(RunView& run) override {
    if (resumed) run.restore(*resumed);
  }
  void look(RunView& /*run*/, const std::optional<EpochReport>& epoch) override {
    if (epoch && --epochs_left == 0) stop = true;
  }
  void member_ended(const RunView& /*run*/, const MemberReport& report) override { reports.push_back(report); }
  void end(RunView& run) override {
    status = run.status();
    model = run.kept();
    run.save(saved);
    validation = run.measure(RunView::Iterate::kept, *rows, never);
  }

  std::atomic<bool> stop = false;
  int epochs_left = -1;  // before it stops; negative: never
  std::optional<Checkpoint> resumed;
  const std::vector<std::uint32_t>* rows = nullptr;
  RunStatus status = RunStatus::running;
  std::unique_ptr<Model<float>> model;
  std::optional<Scores> validation;
  std::vector<MemberReport> reports;
  Checkpoint saved;
};

void train_with(const Engine& engine, const TableDataset& dataset, const EnsemblePlan& plan, Watcher& watcher) {
  watcher.rows = &dataset.split().validation;
  train_ensemble(engine, dataset, plan, watcher, watcher.stop);
}

class EnsembleTrainingTest : public ::testing::Test {
 protected:
  Table table_ = curved_table(240);
};

TEST_F(EnsembleTrainingTest, DependsNeitherOnTheEngineNorOnBeingStopped) {
  for (const char* target : {"y", "class"}) {
    const TableDataset dataset(table_, {.target = target});
    const EnsemblePlan plan = small_plan(5);
    Watcher whole, parallel;
    train_with(cpu_engine(), dataset, plan, whole);
    train_with(parallel_cpu_engine(), dataset, plan, parallel);
    ASSERT_EQ(whole.status, RunStatus::finished);
    EXPECT_TRUE(whole.saved.entries() == parallel.saved.entries());
    EXPECT_EQ(whole.reports.size(), 8U) << "four networks and four linear models";
    for (const int epochs : {1, 7, 23}) {
      Watcher first, second;
      first.epochs_left = epochs;
      train_with(cpu_engine(), dataset, plan, first);
      ASSERT_EQ(first.status, RunStatus::running) << epochs;
      second.resumed = first.saved;
      train_with(cpu_engine(), dataset, plan, second);
      EXPECT_TRUE(second.saved.entries() == whole.saved.entries()) << "stopped after " << epochs << " epochs";
    }
    Watcher again;
    again.resumed = whole.saved;
    EXPECT_THROW(train_with(cpu_engine(), dataset, plan, again), FileError) << "it is complete";
  }
}

// On ranks that are threads; the others have read the data by themselves.
void train_on_ranks(int ranks, const TableDataset& dataset, const EnsemblePlan& plan, Watcher& watcher,
                    const std::atomic<bool>& stop_of_others = never) {
  testing::LocalRanks all(ranks);
  std::vector<std::jthread> others;
  for (int rank = 1; rank < ranks; ++rank) {
    others.emplace_back([&, rank] {
      EnsemblePlan own = plan;
      own.network.rate = own.linear.rate = 0;  // which rank 0 knows
      serve_ensemble(all[rank], 2, dataset, own, stop_of_others);
    });
  }
  const RankEngine engine(all[0], 1);
  train_with(engine, dataset, plan, watcher);
}

TEST_F(EnsembleTrainingTest, IsTheSameOnAnyNumberOfRanksStoppedOrNot) {
  const TableDataset dataset(table_, {.target = "class"});
  EnsemblePlan plan = small_plan(5);
  Watcher whole;
  train_with(cpu_engine(), dataset, plan, whole);
  for (const int ranks : {1, 2, 4}) {
    Watcher watcher;
    train_on_ranks(ranks, dataset, plan, watcher);
    EXPECT_EQ(watcher.status, RunStatus::finished);
    EXPECT_TRUE(watcher.saved.entries() == whole.saved.entries()) << ranks;
    EXPECT_EQ(watcher.reports.size(), 8U);
  }
  plan.keep_states = true;
  for (const int epochs : {1, 9}) {
    Watcher first, second;
    first.epochs_left = epochs;
    train_on_ranks(3, dataset, plan, first);
    ASSERT_EQ(first.status, RunStatus::running) << epochs;
    second.resumed = first.saved;
    train_on_ranks(3, dataset, plan, second);
    EXPECT_TRUE(second.saved.entries() == whole.saved.entries()) << "stopped after " << epochs << " epochs";
  }
}

TEST_F(EnsembleTrainingTest, ASignalToAnotherRankStopsIt) {
  const TableDataset dataset(table_, {.target = "y"});
  const std::atomic<bool> already = true;
  Watcher first, second, whole;
  train_on_ranks(2, dataset, small_plan(2000), first, already);
  EXPECT_EQ(first.status, RunStatus::running);
  train_on_ranks(2, dataset, small_plan(5), whole);
  EXPECT_EQ(whole.status, RunStatus::finished);
}

TEST_F(EnsembleTrainingTest, RanksWithOtherDataAreRefused) {
  const Table shorter = curved_table(239);
  const TableDataset dataset(table_, {.target = "y"}), other(shorter, {.target = "y"});
  EnsemblePlan plan = small_plan(5);
  testing::LocalRanks ranks(2);
  const std::jthread thread([&] { serve_ensemble(ranks[1], 2, other, plan, never); });
  const RankEngine engine(ranks[0], 0);
  Watcher watcher;
  EXPECT_THROW(train_with(engine, dataset, plan, watcher), Error);
}

TEST_F(EnsembleTrainingTest, FoldsArePartsOfAllButTheTestRows) {
  for (const char* target : {"y", "class"}) {
    const TableDataset dataset(table_, {.target = target});
    const auto folds = fold_rows(dataset, 5, 1);
    ASSERT_EQ(folds.size(), 5U);
    std::vector<std::uint32_t> all;
    std::set<std::size_t> sizes;
    std::vector<double> positives;
    for (const auto& fold : folds) {
      all.insert(all.end(), fold.begin(), fold.end());
      sizes.insert(fold.size());
      double sum = 0;
      for (const std::uint32_t row : fold) sum += dataset.target_in_units(row);
      positives.push_back(sum);
    }
    EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 1U);
    if (dataset.target().is_class()) {
      EXPECT_LE(std::ranges::max(positives) - std::ranges::min(positives), 1);
    }
    std::ranges::sort(all);
    std::vector<std::uint32_t> expected = dataset.split().train;
    expected.insert(expected.end(), dataset.split().validation.begin(), dataset.split().validation.end());
    std::ranges::sort(expected);
    EXPECT_EQ(all, expected);
    EXPECT_NE(fold_rows(dataset, 5, 2), folds);
  }
  EXPECT_TRUE(
      fold_rows(TableDataset(table_, {.target = "y", .split_by = "kind", .validation = 0, .test = 0.4}), 5, 1).empty());
  EXPECT_TRUE(fold_rows(TableDataset(table_, {.target = "y", .split_time = "a"}), 5, 1).empty());
}

// For squared errors the best share has a closed form.
TEST_F(EnsembleTrainingTest, TheShareOfABlendIsTheBest) {
  const TableDataset dataset(table_, {.target = "y"});
  const auto& rows = dataset.split().train;
  RandomStream stream(5, "predictions");
  for (const double noise : {0.0, 0.3, 1.0, 4.0}) {
    std::vector<double> first, second;
    double across = 0, along = 0;
    for (const std::uint32_t row : rows) {
      const double y = dataset.sample(row, {}).y;
      first.push_back(y + noise * stream.normal());
      second.push_back(0.8 * y + 0.5 * stream.normal());
      const double gap = second.back() - first.back();
      across += (y - first.back()) * gap;
      along += gap * gap;
    }
    EXPECT_NEAR(best_share(dataset, rows, first, second), std::clamp(across / along, 0.0, 1.0), 1e-3) << noise;
    EXPECT_EQ(best_share(dataset, rows, first, first), 0);
  }
}

// The model is the mean of its networks, each trained on all rows but one fold, and a share of the mean linear model.
TEST_F(EnsembleTrainingTest, TheModelIsTheBlendOfRunsOfItsFolds) {
  for (const char* target : {"y", "class"}) {
    const TableDataset dataset(table_, {.target = target});
    const EnsemblePlan plan = small_plan(3);
    Watcher ensemble;
    train_with(cpu_engine(), dataset, plan, ensemble);
    const double linear_share = ensemble.saved.array<double>("ensemble.linear-share", 1)[0];
    const double scale = ensemble.saved.array<double>("ensemble.scale", 1)[0];
    EXPECT_EQ(scale == 1, !dataset.target().is_class());
    EXPECT_GE(linear_share, 0);
    EXPECT_LE(linear_share, 1);
    const auto folds = fold_rows(dataset, 4, plan.network.seed);
    const auto& rows = dataset.split().test;
    std::vector<double> expected(rows.size());
    for (std::size_t k = 0; k < 4; ++k) {
      Split split{.train = {}, .validation = folds[k], .test = {}};
      for (const auto* part : {&dataset.split().train, &dataset.split().validation}) {
        for (const std::uint32_t row : *part) {
          if (!std::ranges::binary_search(folds[k], row)) split.train.push_back(row);
        }
      }
      std::ranges::sort(split.train);
      const auto fold = dataset.with_split(split);
      for (const bool linear : {false, true}) {
        TrainingOptions options = linear ? plan.linear : plan.network;
        options.seed += std::uint64_t{k} << 32U;
        ignd::Run run(*fold, options);
        while (run.status() == RunStatus::running) run.learn_epoch(never, [] {});
        const auto made = outputs_on(dataset, rows, *run.kept());
        const double share = scale * (linear ? linear_share : 1 - linear_share) / 4;
        for (std::size_t i = 0; i < rows.size(); ++i) expected[i] += share * made[i];
      }
    }
    const auto made = outputs_on(dataset, rows, *ensemble.model);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  }
}

// Validation rows were learned from by most networks: they are measured by the one that has not seen them.
TEST_F(EnsembleTrainingTest, NoRowIsMeasuredByANetworkThatLearnedFromIt) {
  std::string text = "id,a,b,y\n";
  RandomStream stream(1, "noise");
  for (int i = 0; i < 160; ++i) {
    const double a = stream.normal(), b = stream.normal();
    text += fmt::format("k{},{},{},{}\n", i / 2, a, b, 2 * a * b + stream.normal());  // the linear model has no say
  }
  const Table noise = Table::parse_csv(text, {.dialect = {.delimiter = ',', .header = true}});
  const TableDataset dataset(noise, {.target = "y", .validation = 0.3, .use_ids = true, .levels = 200});
  EnsemblePlan plan = small_plan(60);
  plan.network.keep_last = true;
  Watcher watcher;
  train_with(cpu_engine(), dataset, plan, watcher);
  const double of_the_blend = evaluate(dataset, dataset.split().validation, [&](const Input<float>& x) {
                                const auto batch = watcher.model->make_batch(1);
                                return static_cast<double>(batch->forward({&x, 1}, nullptr)[0]);
                              }).loss;
  EXPECT_LT(of_the_blend, 0.5 * watcher.validation->loss) << "it has learned the noise of these rows by heart";
}

TEST_F(EnsembleTrainingTest, TinyAndUnusualTablesAreLearned) {
  for (const int rows : {6, 12, 40}) {
    const Table few = curved_table(rows);
    const TableDataset dataset(few, {.target = "y", .test = 0});
    RunSpec spec;
    choose_ensemble(spec, {}, DataKind::table);
    spec.complete(DataKind::table);
    spec.epochs = 2;
    spec.training.epochs = 2;
    Watcher watcher;
    train_with(cpu_engine(), dataset, plan_ensemble(spec, dataset), watcher);
    EXPECT_EQ(watcher.status, RunStatus::finished) << rows;
  }
  // Without folds the networks share the validation rows.
  const TableDataset timed(table_, {.target = "y", .split_time = "a"});
  Watcher watcher;
  train_with(cpu_engine(), timed, small_plan(2), watcher);
  EXPECT_EQ(watcher.status, RunStatus::finished);
  EXPECT_EQ(watcher.reports.size(), 5U) << "and one linear model is enough";
}

TEST(ChooseEnsemble, OnlyWhereNothingSaysHowToTrainOne) {
  const auto members = [](const std::set<std::string>& given, const std::function<void(RunSpec&)>& set = {}) {
    RunSpec spec;
    if (set) set(spec);
    choose_ensemble(spec, {.open = "--", .close = "", .names = given}, DataKind::table);
    return *spec.ensemble;
  };
  EXPECT_EQ(members({}), 8U);
  EXPECT_EQ(members({"target", "seed", "loss", "pieces", "save"}), 8U);
  for (const char* name : {"model", "optimizer", "rule", "transform", "lr", "epochs", "schedule", "batch", "l2"}) {
    EXPECT_EQ(members({name}), 1U) << name;
  }
  EXPECT_EQ(members({}, [](RunSpec& spec) { spec.fast = true; }), 1U);
  EXPECT_EQ(members({"epochs"}, [](RunSpec& spec) { spec.ensemble = 3; }), 3U);
  EXPECT_THROW(members({}, [](RunSpec& spec) { spec.ensemble = 3, spec.fast = true; }), InvalidArgument);
  EXPECT_THROW(members({}, [](RunSpec& spec) { spec.ensemble = 3, spec.model = "linear"; }), InvalidArgument);
}

}  // namespace
}  // namespace ignd
