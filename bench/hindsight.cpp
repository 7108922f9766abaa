// What a stream's progressive loss is set beside: the mean squared error of least squares on the whole of a table,
// fitted to the very rows it is measured on.
//   build/release/bin/hindsight TABLE TARGET
#include "ignd/error.hpp"
#include "learn/baselines.hpp"
#include "learn/table_dataset.hpp"

#include <cstdio>
#include <exception>

#include <fmt/format.h>

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw ignd::InvalidArgument("usage: hindsight TABLE TARGET");
    const ignd::Table table = ignd::Table::read(argv[1], {});
    ignd::DatasetOptions options;
    options.target = argv[2];
    options.loss = "squared";
    options.validation = options.test = 0;
    const ignd::TableDataset task(table, options);
    const auto rows = [&](const ignd::RowVisitor& visit) {
      std::vector<float> x(task.encoder().features());
      for (const std::uint32_t row : task.split().train) visit(x, task.sample(row, x).y, 1);
    };
    const auto print = [&](const char* who, const ignd::OutputOf& output) {
      const double rmse = ignd::evaluate(task, task.split().train, output).regression->rmse;
      fmt::print("{}: mean squared error {:.6g}, its root {:.6g}\n", who, rmse * rmse, rmse);
    };
    print("best constant", [](const ignd::Input<float>&) { return 0.0; });
    if (const auto linear = ignd::least_squares(rows, task.encoder().features())) {
      print("least squares", [&](const ignd::Input<float>& x) { return (*linear)(x.values); });
    }
    return 0;
  } catch (const std::exception& fault) {
    fmt::print(stderr, "hindsight: {}\n", fault.what());
    return 1;
  }
}
