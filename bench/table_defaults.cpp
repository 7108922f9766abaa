// What the defaults of `ignd train` were chosen by: every optimizer at every rate of its search, and with the search
// itself, on seven made-up data sets. Prints the validation error beside that of the best constant (root mean square,
// or log loss), the mean over three seeds.
//   build/release/bin/table_defaults [FOLDER for the data sets]
#include "ignd/ignd.hpp"
#include "learn/search.hpp"
#include "learn/table_dataset.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/os.h>

namespace {

using namespace ignd;

struct DataSet {
  std::string name;
  std::string header;
  int rows;
  std::function<std::string(RandomStream&)> row;  // the target comes last
};

double logistic(double z) { return 1 / (1 + std::exp(-z)); }

std::vector<double> normals(RandomStream& stream, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = stream.normal();
  return values;
}

std::string names(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("x{},", i);
  return text;
}

// Friedman's first function: interactions, a square, noise, and five inputs that do nothing.
std::string friedman(RandomStream& s) {
  std::array<double, 10> x{};
  for (double& value : x) value = s.uniform();
  const double y = 10 * std::sin(3.14159265 * x[0] * x[1]) + 20 * (x[2] - .5) * (x[2] - .5) + 10 * x[3] + 5 * x[4];
  return fmt::format("{:.5f},{:.4f}", fmt::join(x, ","), y + s.normal());
}

// Prices: products of effects, two text columns, missing values, a long tail.
std::string price(RandomStream& s) {
  const auto kind = s.below(8);
  const auto town = s.below(30);
  const double kind_effect = .5 * std::sin(static_cast<double>(kind) * 2.3);
  const double town_effect = .4 * std::sin(static_cast<double>(town) * 1.7);
  const double size = std::exp(4 + .6 * s.normal());
  const double age = std::abs(20 + 15 * s.normal());
  const double quality = s.normal();
  const double y = std::exp(6 + .8 * std::log(size) + kind_effect + town_effect - .01 * age +
                            .2 * quality * kind_effect + .1 * s.normal());
  const std::string shown = s.uniform() < .05 ? "" : fmt::format("{:.3f}", quality);
  return fmt::format("k{},t{},{:.2f},{:.1f},{},{:.0f}", kind, town, size, age, shown, y);
}

std::string interaction_class(RandomStream& s) {
  const auto x = normals(s, 8);
  const double z = 2 * x[0] * x[1] + x[2] - .5 * x[3] * x[3] + .5 + std::sin(2 * x[4]);
  return fmt::format("{:.4f},{}", fmt::join(x, ","), s.uniform() < logistic(2 * z) ? "yes" : "no");
}

std::string rare_class(RandomStream& s) {
  const auto c = s.below(6);
  const double a = std::exp(s.normal());
  const double b = 50 + 10 * s.normal();
  const auto k = s.below(6);
  const double z = -3.2 + .8 * std::log(a) + (c == 0 ? 1.5 : 0) + .05 * (b - 50) * (static_cast<double>(k) - 2);
  return fmt::format("c{},{:.4f},{:.2f},{},{}", c, a, b, k, s.uniform() < logistic(z) ? 1 : 0);
}

std::string small(RandomStream& s) {
  const auto x = normals(s, 5);
  return fmt::format("{:.4f},{:.4f}", fmt::join(x, ","), x[0] + .5 * x[1] * x[2] + .3 * s.normal());
}

// Inputs with very long tails, an output in the millions.
std::string heavy(RandomStream& s) {
  std::array<double, 4> x{};
  for (double& value : x) value = s.normal() / std::max(.15, std::abs(s.normal()));
  const double v = 10 * s.uniform();
  const double y = 1e6 * (std::tanh(x[0]) + .3 * std::tanh(x[1] * x[2]) + .2 * std::sin(v)) + 5e4 * s.normal();
  return fmt::format("{:.5f},{:.4f},{:.1f}", fmt::join(x, ","), v, y);
}

// A linear function of ten of sixty inputs, and much noise.
std::string wide(RandomStream& s) {
  const auto x = normals(s, 60);
  double y = 2 * s.normal();
  for (std::size_t i = 0; i < 10; ++i) y += std::cos(static_cast<double>(i) * 1.3) * x[i];
  return fmt::format("{:.3f},{:.3f}", fmt::join(x, ","), y);
}

std::vector<DataSet> data_sets() {
  return {{"friedman", names(10) + "y", 8000, friedman},
          {"price", "kind,town,size,age,quality,y", 20000, price},
          {"classes", names(8) + "y", 10000, interaction_class},
          {"rare", "c,a,b,k,y", 20000, rare_class},
          {"small", names(5) + "y", 400, small},
          {"heavy", "a,b,c,d,v,y", 12000, heavy},
          {"wide", names(60) + "y", 3000, wide}};
}

Table make_table(const DataSet& set, const std::filesystem::path& folder) {
  const std::string path = folder / (set.name + ".csv");
  auto file = fmt::output_file(path);
  file.print("{}\n", set.header);
  RandomStream stream(7, set.name);
  for (int i = 0; i < set.rows; ++i) file.print("{}\n", set.row(stream));
  file.close();
  return Table::read_csv(path, {});
}

double score(const Scores& quality, const Scores& constant) {
  if (quality.classification) return quality.classification->log_loss;
  return quality.regression ? quality.regression->rmse / constant.regression->rmse : 1;
}

double train(const TableDataset& task, TrainingOptions options, bool raced) {
  const std::atomic<bool> stop = false;
  if (raced) {
    const RateSearch result = search_rate(parallel_cpu_engine(), task, options, {}, stop);
    if (!result.best) return std::nan("");
    options.rate = *result.best;
  }
  Run run(task, options);
  while (run.status() == RunStatus::running) run.learn_epoch(stop, [] {});
  const auto model = run.kept();
  Trace<float> trace(*model);
  const auto& rows = task.split().validation;
  const Scores quality = evaluate(task, rows, [&](const Input<float>& x) { return model->predict(x, trace); });
  return score(quality, evaluate(task, rows, [](const Input<float>&) { return 0.0; }));
}

void print_row(const std::vector<Table>& tables, const std::string& label, const TrainingOptions& options, bool raced) {
  fmt::print("{:<36}", label);
  for (const Table& table : tables) {
    double sum = 0;
    constexpr std::array<std::uint64_t, 3> seeds{1, 2, 3};
    for (const std::uint64_t seed : seeds) {
      DatasetOptions task;
      task.target = "y";
      task.seed = seed;
      TrainingOptions run = options;
      run.seed = seed;
      sum += train(TableDataset(table, task), run, raced);
    }
    fmt::print(" {:9.4f}", sum / seeds.size());
    std::fflush(stdout);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
    std::vector<Table> tables;
    fmt::print("{:<36}", "");
    for (const DataSet& set : data_sets()) {
      tables.push_back(make_table(set, folder));
      fmt::print(" {:>9}", set.name);
    }
    fmt::print("\n");
    for (const char* name : {"sgd", "ignd", "adam", "adam-ignd"}) {
      TrainingOptions options;
      options.optimizer = find_optimizer(name);
      for (const double rate : usual_rates(options.optimizer)) {
        options.rate = rate;
        print_row(tables, fmt::format("{} {}", name, rate), options, false);
      }
      print_row(tables, fmt::format("{} auto", name), options, true);
    }
    TrainingOptions options;
    for (const char* model : {"mlp:32", "mlp:64,32", "mlp:64,64", "mlp:128,128"}) {
      options.model = model;
      print_row(tables, fmt::format("adam auto {}", model), options, true);
    }
    options.model = TrainingOptions().model;
    for (const std::uint64_t epochs : {5, 10, 40}) {
      options.epochs = epochs;
      print_row(tables, fmt::format("adam auto, {} epochs", epochs), options, true);
    }
    options.epochs = TrainingOptions().epochs;
    options.schedule = "constant";
    print_row(tables, "adam auto, constant rate", options, true);
    return 0;
  } catch (const std::exception& fault) {
    fmt::print(stderr, "table_defaults: {}\n", fault.what());
    return 1;
  }
}
