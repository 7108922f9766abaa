// Times the kernels of every table that this machine has, at the shapes of the 8-32-64-32-1 network and at larger ones.
// "items" are multiply-adds where there are any, and elements otherwise. A single table:
//   kernels_bench --benchmark_filter=AVX2/float
#include "bench/peaks.hpp"
#include "ignd/ignd.hpp"
#include "kernels/kernels.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

using ignd::RandomStream;
using namespace ignd::kernels;

struct Shape {
  std::size_t rows, columns;
};

// The layers of 8-32-64-32-1 with their bias rows, and two that do not fit the nearest cache.
constexpr Shape shapes[] = {{9, 32}, {33, 64}, {65, 32}, {33, 1}, {257, 256}, {1025, 1024}};
constexpr std::size_t lengths[] = {32, 64, 256, 4096};

template <class T>
std::vector<T> normals(std::size_t n, double scale = 1) {
  RandomStream stream(1, "bench");
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(scale * stream.normal());
  return values;
}

template <class T>
std::vector<T> squares(std::size_t n) {
  auto values = normals<T>(n);
  for (T& value : values) value *= value;
  return values;
}

std::vector<std::uint32_t> all_rows(std::size_t rows) {
  std::vector<std::uint32_t> active(rows);
  std::iota(active.begin(), active.end(), 0U);
  return active;
}

void count(benchmark::State& state, std::size_t items) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

template <class T>
StepConstants<T> adam_step() {
  // A small rate: however often the step is repeated, the weights stay of one size.
  return {.alpha = T(1e-7), .beta1 = T(0.9), .root_beta2 = static_cast<T>(std::sqrt(0.999)), .eps = T(1e-8)};
}

template <class T>
void dot(benchmark::State& state, const Kernels<T>& table, std::size_t n) {
  const auto a = normals<T>(n);
  const auto b = normals<T>(n);
  for (auto _ : state) benchmark::DoNotOptimize(table.dot(a.data(), b.data(), n));
  count(state, n);
}

template <class T>
void gather_dot(benchmark::State& state, const Kernels<T>& table) {
  constexpr std::size_t size = std::size_t{1} << 18;
  constexpr std::size_t indices = 40;
  constexpr std::size_t examples =
      1024;  // as in a stream of examples, an index is not in the cache because of the last
  const auto w = normals<T>(size);
  const auto x = normals<T>(indices);
  RandomStream stream(2, "bench");
  std::vector<std::uint32_t> index(indices * examples);
  for (auto& at : index) at = static_cast<std::uint32_t>(stream.below(size));
  std::size_t example = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.gather_dot(w.data(), index.data() + example * indices, x.data(), indices));
    example = (example + 1) % examples;
  }
  count(state, indices);
}

template <class T>
void layer_forward(benchmark::State& state, const Kernels<T>& table, Shape shape) {
  const auto w = normals<T>(shape.rows * shape.columns);
  const auto u = normals<T>(shape.rows);
  const auto active = all_rows(shape.rows);
  std::vector<T> out(shape.columns);
  for (auto _ : state) {
    table.layer_forward(w.data(), u.data(), active, shape.columns, out.data());
    benchmark::ClobberMemory();
  }
  count(state, shape.rows * shape.columns);
}

template <class T>
void layer_backward(benchmark::State& state, const Kernels<T>& table, Shape shape) {
  const auto w = normals<T>(shape.rows * shape.columns);
  const auto delta = normals<T>(shape.columns);
  const auto active = all_rows(shape.rows);
  std::vector<T> out(shape.rows);
  for (auto _ : state) {
    table.layer_backward(w.data(), delta.data(), active, shape.columns, out.data());
    benchmark::ClobberMemory();
  }
  count(state, shape.rows * shape.columns);
}

// out (rows x columns) = a b; the Gram matrix of a is a^T a, with a as b.
struct ProductShape {
  const char* name;
  std::size_t rows, depth, columns;
  bool add = false, gram = false, upper = false;
};

// What a batch of N samples needs on its way through the layers.
constexpr ProductShape product_shapes[] = {
    {"32x9x32", 32, 9, 32},
    {"64x33x32", 64, 33, 32},
    {"32x65x32", 32, 65, 32},
    {"1x33x32", 1, 33, 32},
    {"33x32x64 added", 33, 32, 64, true},
    {"33x32x1 added", 33, 32, 1, true},
    {"gram 32x64x32", 32, 64, 32, false, true},
    {"upper gram 32x64x32", 32, 64, 32, false, true, true},
    {"32x9x128", 32, 9, 128},
    {"64x33x128", 64, 33, 128},
    {"32x65x128", 32, 65, 128},
    {"1x33x128", 1, 33, 128},
    {"33x128x64 added", 33, 128, 64, true},
    {"33x128x1 added", 33, 128, 1, true},
    {"gram 128x64x128", 128, 64, 128, false, true},
    {"upper gram 128x64x128", 128, 64, 128, false, true, true},
    {"64x33x8", 64, 33, 8},
    {"64x33x5", 64, 33, 5},
    {"64x33x31", 64, 33, 31},
};

template <class T>
void product(benchmark::State& state, const Kernels<T>& table, ProductShape shape) {
  const auto a = normals<T>(shape.rows * shape.depth);
  const auto b = normals<T>(shape.depth * shape.columns);
  std::vector<T> out(shape.rows * shape.columns);
  Product<T> p{.rows = shape.rows,
               .depth = shape.depth,
               .columns = shape.columns,
               .a = a.data(),
               .a_row_stride = shape.gram ? 1 : shape.depth,
               .a_column_stride = shape.gram ? shape.rows : 1,
               .b = shape.gram ? a.data() : b.data(),
               .b_stride = shape.columns,
               .out = out.data(),
               .out_stride = shape.columns,
               .factor = T(1),
               .add = shape.add,
               .upper = shape.upper};
  for (auto _ : state) {
    table.product(p);
    if (shape.add) p.factor = -p.factor;  // the sums stay where they are
    benchmark::ClobberMemory();
  }
  count(state, shape.rows * shape.depth * shape.columns);
}

// What the machine can do at best.
template <class T>
void peak(benchmark::State& state) {
  double items = 0;
  for (auto _ : state) items += ignd::bench::multiply_adds<T>(1000);
  state.SetItemsProcessed(static_cast<std::int64_t>(items));
}

std::vector<double> positive_definite(std::size_t n) {
  auto a = normals<double>(n * n, 0.1);
  for (std::size_t k = 0; k < n; ++k) a[k * n + k] = static_cast<double>(n);
  return a;
}

template <class T>
void cholesky(benchmark::State& state, const Kernels<T>& table, std::size_t n) {
  const auto a = positive_definite(n);
  auto l = a;
  for (auto _ : state) {
    l = a;
    benchmark::DoNotOptimize(table.cholesky(l.data(), n, n));
    benchmark::ClobberMemory();
  }
  count(state, n * n * n / 6);
}

template <class T>
void cholesky_solve(benchmark::State& state, const Kernels<T>& table, std::size_t n) {
  auto l = positive_definite(n);
  table.cholesky(l.data(), n, n);
  const auto b = normals<double>(n);
  auto x = b;
  for (auto _ : state) {
    x = b;
    table.cholesky_solve(l.data(), n, n, x.data());
    benchmark::ClobberMemory();
  }
  count(state, n * n);
}

template <class T>
void relu(benchmark::State& state, const Kernels<T>& table, std::size_t n) {
  // (After the first repetition what was below zero is zero, and the list stays the same.)
  auto a = normals<T>(n);
  std::vector<std::uint32_t> active(n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.relu(a.data(), n, active.data()));
    benchmark::ClobberMemory();
  }
  count(state, n);
}

template <class T>
void add_outer(benchmark::State& state, const Kernels<T>& table, Shape shape) {
  auto w = normals<T>(shape.rows * shape.columns);
  const auto u = normals<T>(shape.rows);
  const auto v = normals<T>(shape.columns);
  const auto active = all_rows(shape.rows);
  T factor = T(1e-3);
  for (auto _ : state) {
    table.add_outer(w.data(), u.data(), active, v.data(), shape.columns, factor);
    factor = -factor;  // the weights stay where they are
    benchmark::ClobberMemory();
  }
  count(state, shape.rows * shape.columns);
}

template <class T>
void update_outer_adam(benchmark::State& state, const Kernels<T>& table, Shape shape) {
  const std::size_t n = shape.rows * shape.columns;
  auto w = normals<T>(n);
  auto a = normals<T>(n);
  auto b = squares<T>(n);
  const auto u = normals<T>(shape.rows);
  const auto v = normals<T>(shape.columns);
  const auto active = all_rows(shape.rows);
  const auto step = adam_step<T>();
  const auto update = table.update_outer[static_cast<std::size_t>(Method::adam)];
  for (auto _ : state) {
    benchmark::DoNotOptimize(update(step, {w.data(), a.data(), b.data()}, u.data(), u.data(), active.data(),
                                    active.size(), v.data(), shape.columns, T(1), T(0)));
    benchmark::ClobberMemory();
  }
  count(state, n);
}

// `moment` decides whether the sum of the steps is expanded in eps or written out.
template <class T>
void adam_idle(benchmark::State& state, const Kernels<T>& table, std::size_t n, double moment) {
  constexpr std::size_t steps = 20;
  std::vector<T> factor, root;
  double series[3] = {};
  for (std::size_t i = 1; i <= steps; ++i) {
    const auto power = static_cast<double>(i);
    const double f = 1e-7 * std::pow(0.9, power);
    const double r = std::sqrt(std::pow(0.999, power));
    factor.push_back(static_cast<T>(f));
    root.push_back(static_cast<T>(r));
    for (std::size_t k = 0; k < 3; ++k) series[k] += f / std::pow(r, static_cast<double>(k + 1));
  }
  // The moments are not shrunk, so that each repetition does the same.
  const AdamIdle<T> idle{.factor = factor,
                         .root = root,
                         .series = {static_cast<T>(series[0]), static_cast<T>(series[1]), static_cast<T>(series[2])},
                         .limit = ignd::kernels::series_limit<T> * root.back(),
                         .eps = T(1e-8)};
  auto w = normals<T>(n);
  auto a = normals<T>(n, moment);
  std::vector<T> b(n, static_cast<T>(moment));
  for (auto _ : state) {
    table.adam_idle(idle, {w.data(), a.data(), b.data()}, n);
    benchmark::ClobberMemory();
  }
  count(state, n);
}

std::string text(Shape shape) { return std::to_string(shape.rows) + "x" + std::to_string(shape.columns); }

template <class T>
void register_all(const Kernels<T>& table, const std::string& precision) {
  const std::string prefix = std::string(table.name) + "/" + precision + "/";
  const auto add = [&](const std::string& name, auto function, auto... arguments) {
    benchmark::RegisterBenchmark((prefix + name).c_str(),
                                 [=, &table](benchmark::State& state) { function(state, table, arguments...); });
  };
  for (const std::size_t n : lengths) add("dot/" + std::to_string(n), dot<T>, n);
  add("gather_dot/40 of 2^18", gather_dot<T>);
  for (const Shape shape : shapes) add("layer_forward/" + text(shape), layer_forward<T>, shape);
  for (const Shape shape : shapes) add("layer_backward/" + text(shape), layer_backward<T>, shape);
  for (const ProductShape& shape : product_shapes) add(std::string("product/") + shape.name, product<T>, shape);
  if constexpr (std::is_same_v<T, double>) {
    for (const std::size_t n : {8, 32, 128, 160, 1000}) {
      add("cholesky/" + std::to_string(n), cholesky<T>, n);
      add("cholesky_solve/" + std::to_string(n), cholesky_solve<T>, n);
    }
  }
  for (const std::size_t n : lengths) add("relu/" + std::to_string(n), relu<T>, n);
  for (const Shape shape : shapes) add("add_outer/" + text(shape), add_outer<T>, shape);
  for (const Shape shape : shapes) add("update_outer_adam/" + text(shape), update_outer_adam<T>, shape);
  for (const std::size_t n : lengths) {
    add("adam_idle/expanded/" + std::to_string(n), adam_idle<T>, n, 1.0);
    add("adam_idle/exact/" + std::to_string(n), adam_idle<T>, n, 1e-9);
  }
}

template <class T>
void register_tables(const std::string& precision) {
  for (const Kernels<T>* table : all_tables<T>()) register_all(*table, precision);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RegisterBenchmark("peak/float", peak<float>);
  benchmark::RegisterBenchmark("peak/double", peak<double>);
  register_tables<float>("float");
  register_tables<double>("double");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
