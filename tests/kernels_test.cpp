#include "kernels/kernels.hpp"

#include "kernel_arrays.hpp"
#include "kernels/flush_to_zero.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// Every table of kernels against the scalar one.
namespace ignd::testing {
namespace {

using kernels::Active;
using kernels::AdamIdle;
using kernels::Kernels;
using kernels::Method;
using kernels::method_count;
using kernels::StepConstants;
using kernels::Weights;

constexpr std::size_t longest = 130;  // two vectors more than a tile of eight, for the widest there are

template <class T>
std::vector<T> absolute(std::vector<T> values) {
  for (T& value : values) value = std::abs(value);
  return values;
}

std::vector<std::uint32_t> all_rows(std::size_t rows) {
  std::vector<std::uint32_t> active(rows);
  std::iota(active.begin(), active.end(), 0U);
  return active;
}

// None, all or some of the rows.
std::vector<std::uint32_t> random_rows(RandomStream& stream, std::size_t rows) {
  const auto choice = stream.below(8);
  if (choice == 0) return {};
  auto active = all_rows(rows);
  if (choice > 3) std::erase_if(active, [&](std::uint32_t) { return stream.below(3) == 0; });
  return active;
}

struct Shape {
  std::size_t rows, columns;
};

std::vector<Shape> shapes() {
  constexpr std::array<std::size_t, 21> sizes{0,  1,  2,  3,  4,  6,  7,  8,   9,   15, 16,
                                              17, 31, 32, 33, 63, 64, 65, 127, 128, 130};
  std::vector<Shape> all;
  for (const std::size_t rows : sizes) {
    for (const std::size_t columns : sizes) all.push_back({rows, columns});
  }
  for (std::size_t columns = 0; columns <= longest; ++columns) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{4}, std::size_t{5}}) all.push_back({rows, columns});
  }
  return all;
}

template <class T>
StepConstants<T> random_step(RandomStream& stream) {
  const auto between = [&](double low, double high) { return static_cast<T>(stream.uniform(low, high)); };
  return {.alpha = between(0.001, 0.1),
          .beta1 = between(0.5, 0.99),
          .root_beta2 = between(0.95, 0.9995),
          .eps = between(1e-8, 1e-6),
          .correction1 = between(1, 5),
          .root2 = between(1, 2),
          .decay = stream.below(2) == 0 ? T{0} : between(0, 0.1)};
}

// The arrays that an element-wise function works on: x, and for the updates a and b, are changed with the help of p.
template <class T>
struct Operands {
  Operands(RandomStream& stream, std::size_t n, Kind kind)
      : x(random_values<T>(stream, n, kind)),
        a(absolute(random_values<T>(stream, n, kind))),
        b(absolute(random_values<T>(stream, n, kind))),
        p(random_values<T>(stream, n, kind)) {}
  std::vector<T> x, a, b, p;
};

struct Tolerance {
  double x = 0, a = 0, b = 0;
};

// One element of the operands, in double.
struct Element {
  double x = 0, a = 0, b = 0, p = 0;
};

template <class T>
struct ElementWise {
  std::string name;
  std::function<void(const Kernels<T>&, T* x, T* a, T* b, const T* p, std::size_t n)> run;
  // How far from the scalar twin's result an element may be.
  std::function<Tolerance(const Element& before, const Element& after)> tolerance;
};

// The two tables differ by the roundings that a fused multiply-add leaves out: a few, each as large as the largest term
// of the formula. Where g is the difference of large terms its error is as large as theirs (g below is the sum of their
// sizes), and the roots and quotients pass that on at most in proportion.
template <class T>
Tolerance update_tolerance(Method method, const StepConstants<T>& step, double c, double decay, const Element& before,
                           const Element& after) {
  constexpr double roundings = 12;  // adam's formula has that many operations
  const double smallest = static_cast<double>(std::numeric_limits<T>::min());
  // A factor of zero adds nothing, not even of an infinite weight.
  const auto times = [](double factor, double x) { return factor == 0 ? 0 : std::abs(factor * x); };
  const auto alpha = static_cast<double>(step.alpha);
  const auto beta1 = static_cast<double>(step.beta1);
  const double beta2 = static_cast<double>(step.root_beta2) * static_cast<double>(step.root_beta2);
  const auto eps = static_cast<double>(step.eps);
  const bool rests = kernels::can_rest(method) && c == 0 && decay == 0;
  const double g = rests ? 0 : times(c, before.p) + times(decay, before.x) + smallest;
  const double w = std::abs(before.x);
  double change = g;
  double a = 0;
  double b_error = 0;
  if (method == Method::momentum || method == Method::nesterov) {
    a = std::abs(beta1 * before.a) + g;
    change = method == Method::momentum ? a : g + beta1 * a;
  } else if (method == Method::adagrad || method == Method::rmsprop) {
    a = before.a + g * g;
    change = rests ? 0 : g / (std::sqrt(after.a) + eps);
  } else if (method == Method::adadelta) {
    a = before.a + g * g;
    change = rests ? 0 : g * std::sqrt((before.b + eps) / (after.a + eps));
    b_error = roundings * rounding<T>(before.b + change * change);
  } else if (method == Method::adam) {
    const auto correction1 = static_cast<double>(step.correction1);
    const auto root2 = static_cast<double>(step.root2);
    a = std::abs(beta1 * before.a) + (1 - beta1) * g;
    const double squares = beta2 * before.b * before.b + (1 - beta2) * g * g;
    const double error = roundings * rounding<T>(squares);
    b_error = std::min(std::sqrt(error), error / after.b) + rounding<T>(after.b);
    const double root = root2 * after.b + eps;
    const double root_error = root2 * std::sqrt(1 - beta2) * g / root;
    // alpha times the numerator is formed first, and rounds like a denormal if it is one.
    const double numerator = correction1 * (a + std::abs(after.a) * root_error) + smallest / alpha;
    change = numerator / root + times(static_cast<double>(step.decay), w);
  }
  const bool has_a = method != Method::plain;  // state that a method does not have stays as it is
  return {roundings * rounding<T>(w + alpha * change), has_a ? roundings * rounding<T>(a) : 0, b_error};
}

template <class T>
std::vector<ElementWise<T>> element_wise(RandomStream& stream) {
  const T factor = static_cast<T>(stream.normal());
  const T share = static_cast<T>(stream.uniform());
  const T decay = stream.below(2) == 0 ? T{0} : static_cast<T>(stream.uniform(0, 0.1));
  const double size = std::abs(static_cast<double>(factor));
  std::vector<ElementWise<T>> all{
      {"relu",
       [](const Kernels<T>& table, T* x, T*, T*, const T*, std::size_t n) {
         std::vector<std::uint32_t> active(n);
         table.relu(x, n, active.data());
       },
       [](const Element&, const Element&) { return Tolerance{}; }},
      {"relu_backward",
       [](const Kernels<T>& table, T* x, T*, T*, const T* p, std::size_t n) { table.relu_backward(p, x, n); },
       [](const Element&, const Element&) { return Tolerance{}; }},
      // A vectorised tanh may be off by an ulp or two where the library's is not.
      {"tanh", [](const Kernels<T>& table, T* x, T*, T*, const T*, std::size_t n) { table.tanh(x, n); },
       [](const Element&, const Element& after) { return Tolerance{4 * rounding<T>(std::abs(after.x))}; }},
      {"tanh_backward",
       [](const Kernels<T>& table, T* x, T*, T*, const T* p, std::size_t n) { table.tanh_backward(p, x, n); },
       [](const Element& at, const Element&) {
         return Tolerance{2 * rounding<T>(std::abs(at.x) * (1 + at.p * at.p))};
       }},
      {"add", [=](const Kernels<T>& table, T* x, T*, T*, const T* p, std::size_t n) { table.add(x, p, n, factor); },
       [=](const Element& at, const Element&) {
         return Tolerance{2 * rounding<T>(std::abs(at.x) + size * std::abs(at.p))};
       }},
      {"add_outer",
       [=](const Kernels<T>& table, T* x, T*, T*, const T* p, std::size_t n) {
         const std::uint32_t row = 0;
         table.add_outer(x, &factor, {&row, 1}, p, n, T{1});
       },
       [=](const Element& at, const Element&) {
         return Tolerance{2 * rounding<T>(std::abs(at.x) + size * std::abs(at.p))};
       }},
      // One product: nothing to leave out.
      {"shrink", [=](const Kernels<T>& table, T* x, T*, T*, const T*, std::size_t n) { table.shrink(x, n, factor); },
       [](const Element&, const Element&) { return Tolerance{}; }},
      {"average",
       [=](const Kernels<T>& table, T* x, T*, T*, const T* p, std::size_t n) { table.average(x, p, n, share); },
       [](const Element& at, const Element&) { return Tolerance{2 * rounding<T>(std::abs(at.x) + std::abs(at.p))}; }},
  };
  for (std::size_t m = 0; m < method_count; ++m) {
    const StepConstants<T> step = random_step<T>(stream);
    const auto add = [&](const std::string& name, T c, T l2) {
      all.push_back({name + std::to_string(m),
                     [=](const Kernels<T>& table, T* x, T* a, T* b, const T* p, std::size_t n) {
                       table.update[m](step, {x, a, b}, p, p, c, l2, n);
                     },
                     [=](const Element& before, const Element& after) {
                       return update_tolerance(static_cast<Method>(m), step, static_cast<double>(c),
                                               static_cast<double>(l2), before, after);
                     }});
    };
    add("update ", factor, decay);
    add("update without a direction ", T{0}, T{0});
  }
  return all;
}

template <class T>
Element element(const Array<T>& x, const Array<T>& a, const Array<T>& b, const std::vector<T>& p, std::size_t k) {
  return {static_cast<double>(x[k]), static_cast<double>(a[k]), static_cast<double>(b[k]), static_cast<double>(p[k])};
}

// Copies of the operands, each at an offset of its own, and what a function made of them.
template <class T>
struct Run {
  Run(RandomStream& stream, const Operands<T>& from)
      : x(from.x, stream.below(4), Role::written),
        a(from.a, stream.below(4), Role::written),
        b(from.b, stream.below(4), Role::written),
        p(from.p, stream.below(4)) {}
  bool guards_untouched() const { return x.guards_untouched() && a.guards_untouched() && b.guards_untouched(); }
  Array<T> x, a, b, p;
};

// The constants of k idle steps after t0 others, by the formula in kernels.hpp.
template <class T>
struct IdleSteps {
  IdleSteps(double b1, double b2, std::size_t k, std::size_t t0) : beta1(b1), beta2(b2) {
    std::array<double, 3> series{};
    const double keep = 1 - alpha * decay;
    for (std::size_t i = 1; i <= k; ++i) {
      const double step = static_cast<double>(i);
      const double t = static_cast<double>(t0 + i);
      steps.push_back({.alpha = static_cast<T>(alpha),
                       .beta1 = static_cast<T>(beta1),
                       .root_beta2 = static_cast<T>(std::sqrt(beta2)),
                       .eps = static_cast<T>(eps),
                       .correction1 = static_cast<T>(1 / (1 - std::pow(beta1, t))),
                       .root2 = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, t))),
                       .decay = static_cast<T>(decay)});
      const double f =
          alpha / (1 - std::pow(beta1, t)) * std::pow(beta1, step) * std::pow(keep, static_cast<double>(k - i));
      const double r = std::sqrt(std::pow(beta2, step) / (1 - std::pow(beta2, t)));
      factor.push_back(static_cast<T>(f));
      root.push_back(static_cast<T>(r));
      for (std::size_t n = 0; n < 3; ++n) series[n] += f / std::pow(r, static_cast<double>(n + 1));
    }
    const auto count = static_cast<double>(k);
    idle = {factor,
            root,
            {static_cast<T>(series[0]), static_cast<T>(series[1]), static_cast<T>(series[2])},
            root.empty() ? T{0} : kernels::series_limit<T> * root.back(),
            static_cast<T>(eps),
            static_cast<T>(std::pow(keep, count)),
            static_cast<T>(std::pow(beta1, count)),
            static_cast<T>(std::pow(beta2, count / 2))};
  }
  IdleSteps(const IdleSteps&) = delete;
  IdleSteps& operator=(const IdleSteps&) = delete;

  static constexpr double alpha = 0.01, eps = 1e-8, decay = 0.1;
  double beta1, beta2;
  std::vector<StepConstants<T>> steps;  // the same, one by one
  std::vector<T> factor, root;
  AdamIdle<T> idle;
};

// Weights whose moments a are about `moment`, and so are the roots b.
template <class T>
Operands<T> with_moments(RandomStream& stream, std::size_t n, const std::function<double()>& moment) {
  Operands<T> made(stream, n, Kind::ordinary);
  for (std::size_t k = 0; k < n; ++k) {
    const double size = moment();
    made.a[k] = static_cast<T>(size * stream.normal());
    made.b[k] = static_cast<T>(size * stream.uniform(0.3, 1));
  }
  return made;
}

constexpr std::array moments{1.0, 1e-4, 1e-8, 1e-12, 0.0};

template <class T>
class KernelTest : public ::testing::Test {};

struct PrecisionNames {
  template <class T>
  static std::string GetName(int) {
    return sizeof(T) == sizeof(float) ? "float" : "double";
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelTest, Precisions, PrecisionNames);

TYPED_TEST(KernelTest, TheScalarTableComesFirstAndTheOneInUseIsListed) {
  using T = TypeParam;
  const Kernels<T>* in_use = &kernels::table<T>();
  const auto tables = kernels::all_tables<T>();
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables.front(), &kernels::scalar_table<T>());
  EXPECT_EQ(std::count(tables.begin(), tables.end(), in_use), 1);
  EXPECT_EQ(in_use, &kernels::table<T>()) << "listing the tables changes the choice";
#if defined(__x86_64__)
  EXPECT_GE(tables.size(), 2U);
  EXPECT_NE(in_use, tables.front());
#endif
  std::set<std::string> names;
  for (const Kernels<T>* table : tables) names.insert(table->name);
  EXPECT_EQ(names.size(), tables.size());
}

TYPED_TEST(KernelTest, ElementWiseFunctionsAgreeWithTheScalarOnes) {
  using T = TypeParam;
  RandomStream stream(1, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  for (std::size_t n = 0; n <= longest; ++n) {
    const auto functions = element_wise<T>(stream);
    for (const Kind kind : kinds) {
      const Operands<T> operands(stream, n, kind);
      for (const auto& function : functions) {
        const Run<T> before(stream, operands);
        Run<T> want = before;
        function.run(scalar, want.x.data(), want.a.data(), want.b.data(), want.p.data(), n);
        for (const Kernels<T>* table : kernels::all_tables<T>()) {
          Run<T> got(stream, operands);
          function.run(*table, got.x.data(), got.a.data(), got.b.data(), got.p.data(), n);
          ASSERT_TRUE(got.guards_untouched()) << function.name << " " << table->name << " " << n;
          for (std::size_t k = 0; k < n; ++k) {
            const Element after = element(want.x, want.a, want.b, operands.p, k);
            const Element result = element(got.x, got.a, got.b, operands.p, k);
            const Tolerance tolerance = function.tolerance(element(before.x, before.a, before.b, operands.p, k), after);
            ASSERT_TRUE(agree(result.x, after.x, tolerance.x) && agree(result.a, after.a, tolerance.a) &&
                        agree(result.b, after.b, tolerance.b))
                << function.name << " " << table->name << " " << k << " of " << n << ": (" << result.x << ", "
                << result.a << ", " << result.b << ") instead of (" << after.x << ", " << after.a << ", " << after.b
                << ")";
          }
        }
      }
    }
  }
}

TYPED_TEST(KernelTest, ElementWiseResultsDoNotDependOnWhereAVectorEnds) {
  using T = TypeParam;
  RandomStream stream(2, "kernels");
  const auto functions = element_wise<T>(stream);
  for (const Kind kind : kinds) {
    const Operands<T> operands(stream, longest, kind);
    for (const auto& function : functions) {
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        Run<T> whole(stream, operands);
        function.run(*table, whole.x.data(), whole.a.data(), whole.b.data(), whole.p.data(), longest);
        for (int repeat = 0; repeat < 40; ++repeat) {
          const std::size_t begin = stream.below(longest);
          const std::size_t n = 1 + stream.below(longest - begin);
          Run<T> part(stream, operands);
          function.run(*table, part.x.data() + begin, part.a.data() + begin, part.b.data() + begin,
                       part.p.data() + begin, n);
          for (std::size_t k = begin; k < begin + n; ++k) {
            ASSERT_TRUE(same_bits(part.x[k], whole.x[k]) && same_bits(part.a[k], whole.a[k]) &&
                        same_bits(part.b[k], whole.b[k]))
                << function.name << " " << table->name << " " << k << " in " << begin << " + " << n;
          }
        }
      }
    }
  }
}

TYPED_TEST(KernelTest, UpdatesReturnTheSumOfSensitivityTimesChange) {
  using T = TypeParam;
  RandomStream stream(3, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  for (std::size_t n = 0; n <= longest; ++n) {
    const auto c = static_cast<T>(stream.normal());
    const auto decay = static_cast<T>(stream.uniform(0, 0.1));
    const Kind kind = kinds[stream.below(3)];
    const Operands<T> operands(stream, n, kind);
    const auto j = random_values<T>(stream, n, kind);
    for (std::size_t m = 0; m < method_count; ++m) {
      const auto step = random_step<T>(stream);
      const Run<T> before(stream, operands);
      Run<T> after = before;
      const double want = scalar.update[m](step, {after.x.data(), after.a.data(), after.b.data()}, j.data(),
                                           operands.p.data(), c, decay, n);
      // What each change may be off by, and n roundings of the sum.
      double tolerance = rounding<T>(0);
      for (std::size_t k = 0; k < n; ++k) {
        const Element old = element(before.x, before.a, before.b, operands.p, k);
        const Element now = element(after.x, after.a, after.b, operands.p, k);
        const double own =
            update_tolerance(static_cast<Method>(m), step, static_cast<double>(c), static_cast<double>(decay), old, now)
                .x;
        const double change = std::abs(now.x - old.x) + own;
        tolerance += std::abs(static_cast<double>(j[k])) * (own + static_cast<double>(n) * rounding<T>(change));
      }
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        Run<T> got(stream, operands);
        Array<T> at(j, stream.below(4));
        const double h =
            table->update[m](step, {got.x.data(), got.a.data(), got.b.data()}, at.data(), got.p.data(), c, decay, n);
        ASSERT_TRUE(agree(h, want, tolerance))
            << table->name << " method " << m << " n " << n << ": " << h << " instead of " << want;
      }
    }
  }
}

TYPED_TEST(KernelTest, DotAndGatherDotAgreeWithTheScalarOnes) {
  using T = TypeParam;
  RandomStream stream(4, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  for (std::size_t n = 0; n <= longest; ++n) {
    for (const Kind kind : kinds) {
      const auto a = random_values<T>(stream, n, kind);
      const auto b = random_values<T>(stream, n, kind);
      const auto w = random_values<T>(stream, 50, kind == Kind::extreme ? Kind::ordinary : kind);
      std::vector<std::uint32_t> index(n);
      for (auto& at : index) at = static_cast<std::uint32_t>(stream.below(w.size()));
      double size = 0;
      double gathered_size = 0;
      for (std::size_t k = 0; k < n; ++k) {
        size += std::abs(static_cast<double>(a[k]) * static_cast<double>(b[k]));
        gathered_size += std::abs(static_cast<double>(w[index[k]]) * static_cast<double>(b[k]));
      }
      // The sums are in double whatever T is, in an order of the table's own.
      const auto roundings = static_cast<double>(n);
      const double want = scalar.dot(a.data(), b.data(), n);
      const kernels::DotAndSquares gathered = scalar.gather_dot(w.data(), index.data(), b.data(), n);
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        Array<T> at_a(a, stream.below(4));
        Array<T> at_b(b, stream.below(4));
        Array<T> at_w(w, stream.below(4));
        Array<std::uint32_t> at_index(index, stream.below(4));
        ASSERT_TRUE(agree(table->dot(at_a.data(), at_b.data(), n), want, roundings * rounding<double>(size)))
            << table->name << " dot " << n;
        const double norm = table->dot(at_b.data(), at_b.data(), n);
        ASSERT_TRUE(agree(norm, gathered.squares, roundings * rounding<double>(gathered.squares)))
            << table->name << " dot of one array " << n;
        const auto sums = table->gather_dot(at_w.data(), at_index.data(), at_b.data(), n);
        ASSERT_TRUE(agree(sums.dot, gathered.dot, roundings * rounding<double>(gathered_size)))
            << table->name << " gather_dot " << n;
        ASSERT_TRUE(agree(sums.squares, gathered.squares, roundings * rounding<double>(gathered.squares)))
            << table->name << " gather_dot's squares " << n;
      }
    }
  }
}

TYPED_TEST(KernelTest, MatrixFunctionsAgreeWithTheScalarOnes) {
  using T = TypeParam;
  RandomStream stream(5, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  const auto tables = kernels::all_tables<T>();
  for (const auto& [rows, columns] : shapes()) {
    const Kind kind = kinds[stream.below(3)];
    const auto w = random_values<T>(stream, rows * columns, kind);
    const auto u = random_values<T>(stream, rows, kind);
    const auto v = random_values<T>(stream, columns, kind);
    const auto factor = static_cast<T>(stream.normal());
    const auto active = random_rows(stream, rows);

    std::vector<T> forward(columns);
    std::vector<T> backward(rows, T{-7});
    std::vector<T> outer = w;
    scalar.layer_forward(w.data(), u.data(), active, columns, forward.data());
    scalar.layer_backward(w.data(), v.data(), active, columns, backward.data());
    scalar.add_outer(outer.data(), u.data(), active, v.data(), columns, factor);
    // n roundings as large as the sum of the terms' sizes, and one more where partial sums are joined; the rows that
    // are not active stay as they are.
    std::vector<double> forward_size(columns);
    std::vector<double> backward_size(rows);
    std::vector<double> outer_tolerance(rows * columns);
    for (const std::uint32_t r : active) {
      for (std::size_t c = 0; c < columns; ++c) {
        const double at = std::abs(static_cast<double>(w[r * columns + c]));
        const double added =
            std::abs(static_cast<double>(factor) * static_cast<double>(u[r]) * static_cast<double>(v[c]));
        forward_size[c] += at * std::abs(static_cast<double>(u[r]));
        backward_size[r] += at * std::abs(static_cast<double>(v[c]));
        // (factor u[r], rounded near zero, is multiplied by v[c])
        outer_tolerance[r * columns + c] =
            2 * rounding<T>(at + added) + rounding<T>(0) * std::abs(static_cast<double>(v[c]));
      }
    }
    const double forward_roundings = static_cast<double>(active.size()) + 1;
    const double backward_roundings = static_cast<double>(columns) + 1;

    for (const Kernels<T>* table : tables) {
      SCOPED_TRACE(std::string(table->name) + " " + std::to_string(rows) + " x " + std::to_string(columns) + ", " +
                   std::to_string(active.size()) + " active");
      Array<T> at_w(w, stream.below(4));
      Array<T> at_u(u, stream.below(4));
      Array<T> at_v(v, stream.below(4));
      Array<T> out(std::vector<T>(columns, T{-7}), stream.below(4), Role::written);
      Array<T> back(std::vector<T>(rows, T{-7}), stream.below(4), Role::written);
      Array<T> sum(w, stream.below(4), Role::written);
      table->layer_forward(at_w.data(), at_u.data(), active, columns, out.data());
      table->layer_backward(at_w.data(), at_v.data(), active, columns, back.data());
      table->add_outer(sum.data(), at_u.data(), active, at_v.data(), columns, factor);
      ASSERT_TRUE(out.guards_untouched() && back.guards_untouched() && sum.guards_untouched());
      for (std::size_t c = 0; c < columns; ++c) {
        ASSERT_TRUE(agree(static_cast<double>(out[c]), static_cast<double>(forward[c]),
                          forward_roundings * rounding<T>(forward_size[c])))
            << "forward, column " << c << ": " << out[c] << " instead of " << forward[c];
      }
      for (std::size_t r = 0; r < rows; ++r) {
        ASSERT_TRUE(agree(static_cast<double>(back[r]), static_cast<double>(backward[r]),
                          backward_roundings * rounding<T>(backward_size[r])))
            << "backward, row " << r << ": " << back[r] << " instead of " << backward[r];
      }
      for (std::size_t k = 0; k < outer.size(); ++k) {
        ASSERT_TRUE(agree(static_cast<double>(sum[k]), static_cast<double>(outer[k]), outer_tolerance[k]))
            << "outer, element " << k << ": " << sum[k] << " instead of " << outer[k];
      }
    }
  }
}

TYPED_TEST(KernelTest, InactiveRowsAreNeitherReadNorWritten) {
  using T = TypeParam;
  RandomStream stream(6, "kernels");
  constexpr std::size_t rows = 9;
  const std::vector<std::uint32_t> active{1, 2, 4, 6, 7};
  for (std::size_t columns = 1; columns <= longest; ++columns) {
    auto w = random_values<T>(stream, rows * columns, Kind::ordinary);
    auto u = random_values<T>(stream, rows, Kind::ordinary);
    const auto v = random_values<T>(stream, columns, Kind::ordinary);
    for (const std::size_t r : {0U, 3U, 5U, 8U}) {
      std::fill_n(w.begin() + static_cast<std::ptrdiff_t>(r * columns), columns, guard_value<T>());
      u[r] = guard_value<T>();
    }
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      std::vector<T> out(columns);
      std::vector<T> back(rows, guard_value<T>());
      std::vector<T> sum = w;
      table->layer_forward(w.data(), u.data(), active, columns, out.data());
      table->layer_backward(w.data(), v.data(), active, columns, back.data());
      table->add_outer(sum.data(), u.data(), active, v.data(), columns, T{1});
      EXPECT_TRUE(std::none_of(out.begin(), out.end(), is_guard<T>)) << table->name << " " << columns;
      for (std::size_t r = 0; r < rows; ++r) {
        const bool idle = std::find(active.begin(), active.end(), r) == active.end();
        EXPECT_EQ(is_guard(back[r]), idle) << table->name << " " << columns;
        for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(is_guard(sum[r * columns + c]), idle) << table->name;
      }
    }
  }
}

TYPED_TEST(KernelTest, SumsDoNotDependOnAlignment) {
  using T = TypeParam;
  RandomStream stream(7, "kernels");
  constexpr std::size_t rows = 5;
  for (std::size_t n = 0; n <= longest; ++n) {
    const auto w = random_values<T>(stream, rows * n, Kind::ordinary);
    const auto u = random_values<T>(stream, rows, Kind::ordinary);
    const auto v = random_values<T>(stream, n, Kind::ordinary);
    const auto active = all_rows(rows);
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      const double dot = table->dot(w.data(), v.data(), n);
      std::vector<T> forward(n);
      std::vector<T> backward(rows);
      table->layer_forward(w.data(), u.data(), active, n, forward.data());
      table->layer_backward(w.data(), v.data(), active, n, backward.data());
      for (std::size_t offset = 1; offset < 4; ++offset) {
        Array<T> at_w(w, offset);
        Array<T> at_v(v, offset - 1);
        std::vector<T> out(n);
        std::vector<T> back(rows);
        EXPECT_TRUE(same_bits(table->dot(at_w.data(), at_v.data(), n), dot)) << table->name << " " << n;
        table->layer_forward(at_w.data(), u.data(), active, n, out.data());
        table->layer_backward(at_w.data(), at_v.data(), active, n, back.data());
        EXPECT_TRUE(std::equal(out.begin(), out.end(), forward.begin(), same_bits<T>)) << table->name << " " << n;
        EXPECT_TRUE(std::equal(back.begin(), back.end(), backward.begin(), same_bits<T>)) << table->name << " " << n;
      }
    }
  }
}

TYPED_TEST(KernelTest, UpdateOuterIsUpdateRowByRowBitByBit) {
  using T = TypeParam;
  RandomStream stream(8, "kernels");
  for (std::size_t columns = 0; columns <= longest; ++columns) {
    for (std::size_t m = 0; m < method_count; ++m) {
      const std::size_t rows = columns % 16 == 0 ? 60 + stream.below(80) : stream.below(8);
      const Kind kind = kinds[stream.below(3)];
      const Operands<T> operands(stream, rows * columns, kind);
      const auto uj = random_values<T>(stream, rows, kind);
      auto ud = random_values<T>(stream, rows, kind);
      for (T& value : ud) value = stream.below(3) == 0 ? T{0} : value;
      const auto v = random_values<T>(stream, columns, kind);
      const auto active = random_rows(stream, rows);
      const bool listed = active.size() < rows || stream.below(2) == 0;  // all rows need no list
      const auto step = random_step<T>(stream);
      const auto c = static_cast<T>(stream.normal());
      const auto decay = static_cast<T>(stream.below(2) == 0 ? 0 : stream.uniform(0, 0.1));
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        SCOPED_TRACE(std::string(table->name) + " method " + std::to_string(m) + " columns " + std::to_string(columns));
        Run<T> got(stream, operands);
        Run<T> want(stream, operands);
        Array<T> at_uj(uj, stream.below(4));
        Array<T> at_ud(ud, stream.below(4));
        Array<T> at_v(v, stream.below(4));
        const double h =
            table->update_outer[m](step, {got.x.data(), got.a.data(), got.b.data()}, at_uj.data(), at_ud.data(),
                                   listed ? active.data() : nullptr, active.size(), at_v.data(), columns, c, decay);
        double sum = 0;
        double size = 0;
        bool seen = true;  // what an infinite weight loses cannot be seen in it
        for (const std::uint32_t r : active) {
          const std::size_t k = r * columns;
          const double row = table->update[m](step, {want.x.data() + k, want.a.data() + k, want.b.data() + k}, v.data(),
                                              v.data(), c * ud[r], decay, columns);
          sum += static_cast<double>(uj[r]) * row;
          for (std::size_t at = 0; at < columns; ++at) {
            const auto before = static_cast<double>(operands.x[k + at]);
            const double change = std::abs(static_cast<double>(want.x[k + at]) - before) + rounding<T>(before);
            size += std::abs(static_cast<double>(uj[r]) * static_cast<double>(v[at]) * change);
            seen &= std::isfinite(before);
          }
        }
        ASSERT_TRUE(got.guards_untouched());
        for (std::size_t k = 0; k < rows * columns; ++k) {
          ASSERT_TRUE(same_bits(got.x[k], want.x[k]) && same_bits(got.a[k], want.a[k]) &&
                      same_bits(got.b[k], want.b[k]))
              << "element " << k << ": " << got.x[k] << " instead of " << want.x[k];
        }
        const auto terms = static_cast<double>(active.size() * columns) + 1;
        ASSERT_TRUE(!seen || agree(h, sum, terms * rounding<T>(size))) << h << " instead of " << sum;
      }
    }
  }
}

// The root of a rounded square is the number itself: weights that rest among others end up where a row that rests does.
TYPED_TEST(KernelTest, AStepAlongZeroIsAStepWithoutADirection) {
  using T = TypeParam;
  RandomStream stream(15, "kernels");
  const std::vector<T> zeros(longest);
  for (std::size_t m = 0; m < method_count; ++m) {
    const Operands<T> operands(stream, longest, Kind::ordinary);
    const auto step = random_step<T>(stream);
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      Operands<T> along = operands;
      Operands<T> without = operands;
      table->update[m](step, {along.x.data(), along.a.data(), along.b.data()}, operands.p.data(), zeros.data(), T{1},
                       T{0}, longest);
      table->update[m](step, {without.x.data(), without.a.data(), without.b.data()}, operands.p.data(),
                       operands.p.data(), T{0}, T{0}, longest);
      EXPECT_EQ(along.x, without.x) << table->name << " " << m;
      EXPECT_EQ(along.a, without.a) << table->name << " " << m;
      EXPECT_EQ(along.b, without.b) << table->name << " " << m;
    }
  }
}

// What is kept of the root and what is mixed in must add up to one, although sqrt(beta2) is rounded: else it is off by
// as much as rounding beside 1 - beta2, always to the same side.
TYPED_TEST(KernelTest, AdamsRootIsThatOfTheSecondMomentOnAverage) {
  using T = TypeParam;
  constexpr double beta2 = 0.999;
  const double tolerance = sizeof(T) == sizeof(float) ? 5e-6 : 1e-13;
  const StepConstants<T> step{.root_beta2 = static_cast<T>(std::sqrt(beta2))};
  for (const Kernels<T>* table : kernels::all_tables<T>()) {
    RandomStream stream(16, "kernels");
    std::vector<T> w(longest), a(longest), b(longest);
    std::vector<double> moment(longest);
    for (int t = 0; t < 5000; ++t) {
      const auto g = random_values<T>(stream, longest, Kind::ordinary);
      table->update[static_cast<std::size_t>(Method::adam)](step, {w.data(), a.data(), b.data()}, g.data(), g.data(),
                                                            T{1}, T{0}, longest);
      for (std::size_t k = 0; k < longest; ++k) {
        const auto value = static_cast<double>(g[k]);
        moment[k] = beta2 * moment[k] + (1 - beta2) * value * value;
      }
    }
    double bias = 0;
    for (std::size_t k = 0; k < longest; ++k) bias += static_cast<double>(b[k]) / std::sqrt(moment[k]) - 1;
    EXPECT_NEAR(bias / static_cast<double>(longest), 0, tolerance) << table->name;
  }
}

TYPED_TEST(KernelTest, UpdatesLookOnlyAtTheStateTheyHave) {
  using T = TypeParam;
  RandomStream stream(9, "kernels");
  const auto d = random_values<T>(stream, longest, Kind::ordinary);
  const std::vector<T> one{1};
  const std::vector<std::uint32_t> active{0};
  for (const Kernels<T>* table : kernels::all_tables<T>()) {
    for (const Method method : {Method::plain, Method::momentum, Method::nesterov, Method::adagrad, Method::rmsprop}) {
      const auto m = static_cast<std::size_t>(method);
      const auto step = random_step<T>(stream);
      std::vector<T> w(longest), a(longest);
      T* state = method == Method::plain ? nullptr : a.data();
      table->update[m](step, {w.data(), state, nullptr}, d.data(), d.data(), T{1}, T{0}, longest);
      EXPECT_NE(w, std::vector<T>(longest)) << table->name << " " << m;
      std::vector<T> outer(longest), outer_a(longest);
      T* outer_state = method == Method::plain ? nullptr : outer_a.data();
      table->update_outer[m](step, {outer.data(), outer_state, nullptr}, one.data(), one.data(), active.data(),
                             active.size(), d.data(), longest, T{1}, T{0});
      EXPECT_EQ(outer, w) << table->name << " " << m;
      EXPECT_EQ(outer_a, a) << table->name << " " << m;
    }
  }
}

TYPED_TEST(KernelTest, ActiveListsAreExact) {
  using T = TypeParam;
  RandomStream stream(10, "kernels");
  for (std::size_t n = 0; n <= longest; ++n) {
    for (const double zeros : {0.0, 0.2, 0.8, 1.0}) {
      auto values = random_values<T>(stream, n, kinds[stream.below(3)]);
      for (T& value : values) {
        if (stream.uniform() < zeros) value = stream.below(2) == 0 ? T{0} : -T{0};
      }
      std::vector<std::uint32_t> nonzero, positive;
      for (std::uint32_t k = 0; k < n; ++k) {
        if (values[k] != T{0}) nonzero.push_back(k);
        if (values[k] > T{0} || std::isnan(values[k])) positive.push_back(k);
      }
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        const auto check = [&](auto function, const std::vector<std::uint32_t>& want, const char* name) {
          SCOPED_TRACE(std::string(table->name) + " " + name + " " + std::to_string(n));
          const std::vector<std::uint32_t> room(n, guard_value<std::uint32_t>());
          Array<std::uint32_t> active(room, stream.below(4), Role::written);
          Array<T> at(values, stream.below(4), Role::written);
          const std::size_t count = function(at.data(), n, active.data());
          EXPECT_EQ(std::vector<std::uint32_t>(active.data(), active.data() + count), want);
          EXPECT_TRUE(at.guards_untouched());
          EXPECT_TRUE(active.guards_untouched());
        };
        check(table->list_nonzero, nonzero, "list_nonzero");
        check(table->relu, positive, "relu");
      }
    }
  }
}

TYPED_TEST(KernelTest, ReluKeepsNaNAndListsIt) {
  using T = TypeParam;
  for (const Kernels<T>* table : kernels::all_tables<T>()) {
    for (std::size_t n = 1; n <= longest; ++n) {
      std::vector<T> values(n, T{-1});
      values[n / 2] = std::numeric_limits<T>::quiet_NaN();
      std::vector<std::uint32_t> active(n);
      ASSERT_EQ(table->relu(values.data(), n, active.data()), 1U) << table->name << " " << n;
      EXPECT_EQ(active[0], n / 2);
      EXPECT_TRUE(std::isnan(values[n / 2])) << table->name << " " << n;
      EXPECT_EQ(std::count(values.begin(), values.end(), T{0}), static_cast<std::ptrdiff_t>(n) - 1);
    }
  }
}

TYPED_TEST(KernelTest, IncreasingIndicesAreToldFromAllOthers) {
  using T = TypeParam;
  for (std::size_t n = 0; n <= 130; ++n) {
    std::vector<std::uint32_t> good(n);
    for (std::size_t k = 0; k < n; ++k) good[k] = static_cast<std::uint32_t>(3 * k + 1);
    const auto limit = static_cast<std::uint32_t>(3 * n + 1);
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      SCOPED_TRACE(std::string(table->name) + " " + std::to_string(n));
      EXPECT_TRUE(table->increasing_below(good.data(), n, limit));
      EXPECT_TRUE(n == 0 || !table->increasing_below(good.data(), n, good.back()));
      for (std::size_t k = 0; k < n; ++k) {
        // Too large, the largest number there is (one more is zero), and the same as its neighbour.
        for (const std::uint32_t bad : {limit, UINT32_MAX, k + 1 < n ? good[k + 1] : limit}) {
          auto indices = good;
          indices[k] = bad;
          EXPECT_FALSE(table->increasing_below(indices.data(), n, limit)) << bad << " at " << k;
        }
      }
    }
  }
}

TYPED_TEST(KernelTest, ScatterAddChangesExactlyItsRows) {
  using T = TypeParam;
  RandomStream stream(91, "scatter");
  for (std::size_t n = 0; n <= 130; ++n) {
    std::vector<T> w(400);
    for (T& value : w) value = static_cast<T>(stream.normal());
    std::vector<std::uint32_t> index(n);
    std::vector<T> x(n);
    for (std::size_t k = 0; k < n; ++k) {
      index[k] = static_cast<std::uint32_t>(3 * k + stream.below(3));
      x[k] = static_cast<T>(stream.normal());
    }
    auto want = w;
    kernels::scalar_table<T>().scatter_add(want.data(), index.data(), x.data(), n, T(0.3));
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      auto got = w;
      table->scatter_add(got.data(), index.data(), x.data(), n, T(0.3));
      for (std::size_t k = 0; k < w.size(); ++k) {
        const bool touched = std::find(index.begin(), index.end(), k) != index.end();
        // One rounding less, of numbers of order 1 to 4.
        EXPECT_NEAR(got[k], want[k], touched ? 8 * std::numeric_limits<T>::epsilon() : T{0}) << table->name;
      }
    }
  }
}

TYPED_TEST(KernelTest, AdamIdleIsAsManyStepsWithoutAGradient) {
  using T = TypeParam;
  // The steps one by one round k times, and the sum is expanded where eps is small.
  const double tolerance = sizeof(T) == sizeof(float) ? 1e-5 : 1e-12;
  RandomStream stream(11, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  const std::vector<T> none(longest);
  for (const std::size_t k : {1U, 2U, 7U, 60U}) {
    for (const std::size_t t0 : {0U, 5U, 3000U}) {
      const IdleSteps<T> steps(0.9, 0.999, k, t0);
      const auto check = [&](const std::function<double()>& moment, const std::string& what) {
        const Operands<T> operands = with_moments<T>(stream, longest, moment);
        Operands<T> want = operands;
        for (const auto& step : steps.steps) {
          scalar.update[static_cast<std::size_t>(Method::adam)](step, {want.x.data(), want.a.data(), want.b.data()},
                                                                none.data(), none.data(), T{0}, T{0}, longest);
        }
        for (const Kernels<T>* table : kernels::all_tables<T>()) {
          SCOPED_TRACE(std::string(table->name) + " moments " + what + ", " + std::to_string(k) + " after " +
                       std::to_string(t0));
          Run<T> got(stream, operands);
          table->adam_idle(steps.idle, {got.x.data(), got.a.data(), got.b.data()}, longest);
          ASSERT_TRUE(got.guards_untouched());
          for (std::size_t i = 0; i < longest; ++i) {
            const auto x = static_cast<double>(want.x[i]);
            const auto a = static_cast<double>(want.a[i]);
            const auto b = static_cast<double>(want.b[i]);
            const double size = std::abs(static_cast<double>(operands.x[i])) + std::abs(x);
            ASSERT_NEAR(static_cast<double>(got.x[i]), x, tolerance * size) << i << " a " << operands.a[i];
            ASSERT_NEAR(static_cast<double>(got.a[i]), a, tolerance * std::abs(a)) << i;
            ASSERT_NEAR(static_cast<double>(got.b[i]), b, tolerance * b) << i;
          }
        }
      };
      for (const double size : moments) check([=] { return size; }, std::to_string(size));
      check([&] { return moments[stream.below(moments.size())]; }, "of all sizes");
      // One lane of many is on the exact path.
      check([&] { return stream.below(20) == 0 ? 1e-9 : 1.0; }, "large but for a few");
    }
  }
}

TYPED_TEST(KernelTest, AdamIdleAgreesWithTheScalarOneAtEverySizeAndForExtremes) {
  using T = TypeParam;
  RandomStream stream(12, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  constexpr std::size_t k = 20;
  const IdleSteps<T> steps(0.9, 0.999, k, 10);
  for (std::size_t n = 0; n <= longest; ++n) {
    for (const bool extreme : {false, true}) {
      auto operands = with_moments<T>(stream, n, [&] { return moments[stream.below(moments.size())]; });
      if (extreme) {
        operands = Operands<T>(stream, n, Kind::extreme);
        for (std::size_t i = 0; i < n; i += 7) operands.b[i] = 0;  // underflown before a
      }
      Run<T> want(stream, operands);
      scalar.adam_idle(steps.idle, {want.x.data(), want.a.data(), want.b.data()}, n);
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        Run<T> got(stream, operands);
        table->adam_idle(steps.idle, {got.x.data(), got.a.data(), got.b.data()}, n);
        ASSERT_TRUE(got.guards_untouched()) << table->name << " " << n;
        for (std::size_t i = 0; i < n; ++i) {
          const auto x = static_cast<double>(want.x[i]);
          const double size = 2 * std::abs(static_cast<double>(operands.x[i])) + std::abs(x);  // w and the change
          // k terms are summed, and what the expansion leaves out is a few roundings more.
          ASSERT_TRUE(agree(static_cast<double>(got.x[i]), x, (k + 8) * rounding<T>(size)))
              << table->name << " " << i << " of " << n << ": " << got.x[i] << " instead of " << x;
          ASSERT_TRUE(same_bits(got.a[i], want.a[i]) && same_bits(got.b[i], want.b[i])) << table->name << " " << i;
        }
      }
    }
  }
}

TYPED_TEST(KernelTest, AdamIdleAgreesWithTheScalarOneWhereTheRootsShrinkAsFastAsTheFactors) {
  using T = TypeParam;
  RandomStream stream(14, "kernels");
  const auto& scalar = kernels::scalar_table<T>();
  constexpr std::size_t k = 600;
  for (const double beta2 : {0.999, 0.95, 0.9}) {
    const IdleSteps<T> steps(0.9, beta2, k, 10);  // for the last the later terms of the series outgrow the first ones
    for (const double size : {1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5}) {
      const auto operands = with_moments<T>(stream, longest, [=] { return size; });
      Operands<T> want = operands;
      scalar.adam_idle(steps.idle, {want.x.data(), want.a.data(), want.b.data()}, longest);
      for (const Kernels<T>* table : kernels::all_tables<T>()) {
        Operands<T> got = operands;
        table->adam_idle(steps.idle, {got.x.data(), got.a.data(), got.b.data()}, longest);
        for (std::size_t i = 0; i < longest; ++i) {
          const auto x = static_cast<double>(want.x[i]);
          const double change = std::abs(x) + std::abs(static_cast<double>(operands.x[i]));
          ASSERT_NEAR(static_cast<double>(got.x[i]), x, (k + 8) * rounding<T>(change))
              << table->name << " beta2 " << beta2 << " moments " << size;
        }
      }
    }
  }
}

// (Where a vector has lanes of both kinds the exact path is taken for all of them.)
TYPED_TEST(KernelTest, AdamIdleDoesNotDependOnWhereAVectorEndsIfAllLanesTakeOnePath) {
  using T = TypeParam;
  RandomStream stream(13, "kernels");
  const IdleSteps<T> steps(0.9, 0.999, 20, 10);
  for (const double size : {1.0, 1e-8}) {
    const auto operands = with_moments<T>(stream, longest, [=] { return size; });
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      Run<T> whole(stream, operands);
      table->adam_idle(steps.idle, {whole.x.data(), whole.a.data(), whole.b.data()}, longest);
      for (std::size_t begin = 0; begin < longest; ++begin) {
        const std::size_t n = 1 + stream.below(longest - begin);
        Run<T> part(stream, operands);
        table->adam_idle(steps.idle, {part.x.data() + begin, part.a.data() + begin, part.b.data() + begin}, n);
        for (std::size_t k = begin; k < begin + n; ++k) {
          ASSERT_TRUE(same_bits(part.x[k], whole.x[k])) << table->name << " " << k << " in " << begin << " + " << n;
        }
      }
    }
  }
}

#if defined(__SSE__)
// volatile: the product is computed where it stands, under the mode that holds there.
float product(float a, float b) {
  volatile float left = a;
  volatile float right = b;
  volatile float result = left * right;
  return result;
}

// (compared as bits: under the guard even a comparison takes a denormal for zero)
bool is_zero(float value) { return std::bit_cast<std::uint32_t>(value) == 0; }

constexpr float smallest_normal = std::numeric_limits<float>::min();
constexpr float smallest_denormal = std::numeric_limits<float>::denorm_min();

// All arrays of a step of an LSTM of n cells.
template <class T>
struct LstmArrays {
  LstmArrays(RandomStream& stream, std::size_t n, Kind kind)
      : gates(random_values<T>(stream, 4 * n, kind)),
        c_before(random_values<T>(stream, n, kind)),
        dh(random_values<T>(stream, n, kind)),
        dc(random_values<T>(stream, n, kind)),
        c(n),
        tanh_c(n),
        h(n) {}

  // There and back; what the way back changes is kept as the way there left it, too.
  void run(const Kernels<T>& table) {
    const std::size_t n = c.size();
    table.lstm_forward(gates.data(), c_before.data(), n, c.data(), tanh_c.data(), h.data());
    values = gates;
    table.lstm_backward(gates.data(), c_before.data(), tanh_c.data(), dh.data(), n, dc.data());
  }

  std::vector<T> gates, c_before, dh, dc, c, tanh_c, h, values;
};

TYPED_TEST(KernelTest, LstmStepsAgreeWithTheScalarOnes) {
  using T = TypeParam;
  RandomStream stream(14, "kernels");
  for (std::size_t n = 0; n <= longest; ++n) {
    const LstmArrays<T> before(stream, n, n % 2 == 0 ? Kind::ordinary : Kind::tiny);
    LstmArrays<T> expected = before;
    if (n > 3) expected.gates[n / 2] = std::numeric_limits<T>::quiet_NaN();
    if (n > 3) expected.gates[3] = -1000;  // beyond what exp can take
    const LstmArrays<T> start = expected;
    expected.run(kernels::scalar_table<T>());
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      LstmArrays<T> got = start;
      got.run(*table);
      const auto expect_near = [&](const char* what, const std::vector<T>& at, const std::vector<T>& want) {
        for (std::size_t k = 0; k < at.size(); ++k) {
          // Functions that are right to a few units in the last place, and less than ten products of numbers of the
          // size of the arguments.
          const double tolerance = 32 * rounding<T>(1 + std::abs(static_cast<double>(want[k])));
          ASSERT_TRUE(agree(static_cast<double>(at[k]), static_cast<double>(want[k]), tolerance))
              << table->name << ", " << n << " cells, " << what << " " << k << ": " << at[k] << " instead of "
              << want[k];
        }
      };
      expect_near("gate", got.values, expected.values);
      expect_near("c", got.c, expected.c);
      expect_near("tanh c", got.tanh_c, expected.tanh_c);
      expect_near("h", got.h, expected.h);
      expect_near("derivative of gate", got.gates, expected.gates);
      expect_near("derivative of c", got.dc, expected.dc);
    }
  }
}

TEST(FlushToZero, DenormalsAreZeroInsideAndNoLongerAfterwards) {
  EXPECT_FALSE(is_zero(product(smallest_normal, 0.5F)));
  {
    const kernels::FlushToZero flush;
    const bool result = is_zero(product(smallest_normal, 0.5F));
    const bool input = is_zero(product(smallest_denormal, 1e30F));
    const bool normal = is_zero(product(smallest_normal, 1));
    EXPECT_TRUE(result);
    EXPECT_TRUE(input);
    EXPECT_FALSE(normal);
  }
  EXPECT_FALSE(is_zero(product(smallest_normal, 0.5F)));
  EXPECT_FALSE(is_zero(product(smallest_denormal, 1e30F)));
}

TEST(FlushToZero, TheInnerOfTwoLeavesTheOuterOneOn) {
  {
    const kernels::FlushToZero outer;
    {
      const kernels::FlushToZero inner;
      EXPECT_TRUE(is_zero(product(smallest_normal, 0.5F)));
    }
    EXPECT_TRUE(is_zero(product(smallest_normal, 0.5F)));
  }
  EXPECT_FALSE(is_zero(product(smallest_normal, 0.5F)));
}
#endif

}  // namespace
}  // namespace ignd::testing
