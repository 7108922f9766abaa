// The kernels with vectors of whatever width the machine has. This file is compiled once per instruction set (Highway's
// foreach_target.h includes it again and again); only the part behind HWY_ONCE is compiled a single time.
#include "kernels/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// (kept apart so that the order stays)
#include <hwy/highway.h>
// (and this one)
#include <hwy/contrib/math/math-inl.h>
// (and this one)
#include "kernels/vectors-inl.hpp"

#ifndef IGND_KERNELS_SIMD_ONCE
#define IGND_KERNELS_SIMD_ONCE
namespace ignd::kernels {

// compact[mask] lists the positions of the bits that are set in mask.
struct CompactTable {
  std::uint8_t at[256][8] = {};
  constexpr CompactTable() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned count = 0;
      for (std::uint8_t bit = 0; bit < 8; ++bit) {
        if ((mask >> bit & 1U) != 0) at[mask][count++] = bit;
      }
    }
  }
};
inline constexpr CompactTable compact;

}  // namespace ignd::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ignd::kernels::HWY_NAMESPACE {

#if IGND_NO_VECTORS

const Kernels<float>* float_table() { return &scalar_table<float>(); }
const Kernels<double>* double_table() { return &scalar_table<double>(); }

#else

namespace hn = hwy::HWY_NAMESPACE;

// In simd_matrices.cpp.
template <class T>
void product(const Product<T>& p);
template <class T>
void column_products(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t rows,
                     std::size_t columns, T* sums);
bool cholesky(double* a, std::size_t n, std::size_t stride);
void cholesky_solve(const double* l, std::size_t n, std::size_t stride, double* x);

// body(d, k) for k = 0, lanes, 2 lanes, ... with whole vectors d, then for the rest one by one. The same operations on
// one lane give the same bits as on many, so that it does not matter where a vector ends.
template <class T, class Body>
HWY_INLINE void for_each_vector(std::size_t n, Body body) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) body(d, k);
  HWY_UNROLL(1)  // or g++ writes it out for every number that may be left
  for (; k < n; ++k) body(one, k);
}

bool increasing_below(const std::uint32_t* index, std::size_t n, std::uint32_t limit) {
  if (n == 0) return true;
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t pairs = n - 1;
  if (pairs < lanes) {
    for (std::size_t k = 0; k < pairs; ++k) {
      if (index[k] >= index[k + 1]) return false;
    }
    return index[pairs] < limit;
  }
  const auto rises = [&](std::size_t k)
                         HWY_ATTR { return hn::Lt(hn::LoadU(d, index + k), hn::LoadU(d, index + k + 1)); };
  auto all = rises(pairs - lanes);  // what does not fill a vector is covered by one that ends where the pairs end
  for (std::size_t k = 0; k + lanes < pairs; k += lanes) all = hn::And(all, rises(k));
  return hn::AllTrue(d, all) && index[pairs] < limit;
}

// Sums in double. Four of them side by side, so that an addition need not wait for the one before.
HWY_INLINE double dot_of(const double* a, const double* b, std::size_t n) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::size_t k = 0;
  for (; k + 4 * lanes <= n; k += 4 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, b + k), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + k + lanes), hn::LoadU(d, b + k + lanes), s1);
    s2 = hn::MulAdd(hn::LoadU(d, a + k + 2 * lanes), hn::LoadU(d, b + k + 2 * lanes), s2);
    s3 = hn::MulAdd(hn::LoadU(d, a + k + 3 * lanes), hn::LoadU(d, b + k + 3 * lanes), s3);
  }
  for (; k + lanes <= n; k += lanes) s0 = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, b + k), s0);
  double sum = sum_of_lanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  for (; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

HWY_INLINE double dot_of(const float* a, const float* b, std::size_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const std::size_t lanes = hn::Lanes(d);
  const auto load = [&](const float* from) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(half, from)); };
  const auto sum_products = [&](auto norm) HWY_ATTR {
    const auto multiply_add = [&](std::size_t k, auto sum) HWY_ATTR {
      const auto x = load(a + k);
      if constexpr (norm) return hn::MulAdd(x, x, sum);
      return hn::MulAdd(x, load(b + k), sum);
    };
    auto s0 = hn::Zero(d), s1 = hn::Zero(d);
    std::size_t k = 0;
    for (; k + 2 * lanes <= n; k += 2 * lanes) {
      s0 = multiply_add(k, s0);
      s1 = multiply_add(k + lanes, s1);
    }
    for (; k + lanes <= n; k += lanes) s0 = multiply_add(k, s0);
    double sum = sum_of_lanes(d, hn::Add(s0, s1));
    for (; k < n; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    return sum;
  };
  // A norm reads and converts every number once.
  return a == b ? sum_products(std::true_type{}) : sum_products(std::false_type{});
}

template <class T>
double dot(const T* a, const T* b, std::size_t n) {
  return dot_of(a, b, n);
}

// Four weights from anywhere and four inputs, added to both sums. The weights are not brought together by Highway: its
// gather is the processor's own, which is slower than four loads. Side by side, they are converted to double at once.
template <class D, class T>
HWY_INLINE void add_four(D d, const T* w, const std::uint32_t* index, const T* x, hn::Vec<D>& dot,
                         hn::Vec<D>& squares) {
  using Four [[gnu::vector_size(4 * sizeof(T))]] = T;
  const Four weights{w[index[0]], w[index[1]], w[index[2]], w[index[3]]};
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
    } else {
      return hn::LoadU(d, from);
    }
  };
  for (std::size_t k = 0; k < 4; k += hn::Lanes(d)) {
    const auto inputs = load(x + k);
    dot = hn::MulAdd(load(reinterpret_cast<const T*>(&weights) + k), inputs, dot);
    squares = hn::MulAdd(inputs, inputs, squares);
  }
}

template <class T>
DotAndSquares gather_dot(const T* w, const std::uint32_t* index, const T* x, std::size_t n) {
  const hn::CappedTag<double, 4> d;
  // Two of each, so that an addition need not wait for the one before.
  auto dot0 = hn::Zero(d), dot1 = hn::Zero(d), squares0 = hn::Zero(d), squares1 = hn::Zero(d);
  const std::size_t whole = n - n % 8;
  for (std::size_t k = 0; k < whole; k += 8) {
    add_four(d, w, index + k, x + k, dot0, squares0);
    add_four(d, w, index + k + 4, x + k + 4, dot1, squares1);
  }
  DotAndSquares sums{sum_of_lanes(d, hn::Add(dot0, dot1)), sum_of_lanes(d, hn::Add(squares0, squares1))};
  for (std::size_t k = whole; k < n; ++k) {
    const auto input = static_cast<double>(x[k]);
    sums.dot += static_cast<double>(w[index[k]]) * input;
    sums.squares += input * input;
  }
  return sums;
}

// `tile` vectors of outputs at once, two rows at a time: enough sums side by side to keep the multipliers busy. Of
// eight vectors one set of sums is enough for both rows, and AVX2 has no registers for a second.
template <std::size_t tile, class D, class T = hn::TFromD<D>>
HWY_INLINE void forward_tile(D d, const T* w, const T* u, Active rows, std::size_t columns, T* out) {
  constexpr std::size_t sets = tile < 8 ? 2 : 1;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> sums[sets][tile];
  unrolled<sets * tile>([&](auto k) HWY_ATTR { sums[k / tile][k % tile] = hn::Zero(d); });
  const std::uint32_t* r = rows.data();
  const std::uint32_t* end = r + rows.size();
  for (; end - r >= 2; r += 2) {
    const T* row0 = w + r[0] * columns;
    const T* row1 = w + r[1] * columns;
    const auto u0 = hn::Set(d, u[r[0]]);
    const auto u1 = hn::Set(d, u[r[1]]);
    unrolled<tile>([&](auto k) HWY_ATTR {
      sums[0][k] = hn::MulAdd(u0, hn::LoadU(d, row0 + k * lanes), sums[0][k]);
      sums[sets - 1][k] = hn::MulAdd(u1, hn::LoadU(d, row1 + k * lanes), sums[sets - 1][k]);
    });
  }
  if (r < end) {
    const T* row = w + r[0] * columns;
    const auto u0 = hn::Set(d, u[r[0]]);
    unrolled<tile>([&](auto k) HWY_ATTR { sums[0][k] = hn::MulAdd(u0, hn::LoadU(d, row + k * lanes), sums[0][k]); });
  }
  unrolled<tile>([&](auto k) HWY_ATTR {
    hn::StoreU(sets == 1 ? sums[0][k] : hn::Add(sums[0][k], sums[sets - 1][k]), d, out + k * lanes);
  });
}

template <class T>
void layer_forward(const T* w, const T* u, Active rows, std::size_t columns, T* out) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t c = 0;
  for (; c + 8 * lanes <= columns; c += 8 * lanes) forward_tile<8>(d, w + c, u, rows, columns, out + c);
  for (; c + 4 * lanes <= columns; c += 4 * lanes) forward_tile<4>(d, w + c, u, rows, columns, out + c);
  for (; c + 2 * lanes <= columns; c += 2 * lanes) forward_tile<2>(d, w + c, u, rows, columns, out + c);
  for (; c + lanes <= columns; c += lanes) forward_tile<1>(d, w + c, u, rows, columns, out + c);
  for (; c < columns; ++c) forward_tile<1>(hn::CappedTag<T, 1>{}, w + c, u, rows, columns, out + c);
}

// Calls body with the number of whole vectors in a row as a constant, where that is a usual one, and with 0 otherwise.
template <class T, class Body>
HWY_INLINE void with_vectors_per_row(std::size_t columns, Body body) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>{});
  const std::size_t vectors = columns % lanes == 0 ? columns / lanes : 0;
  switch (vectors) {
    case 1:
      return body(std::integral_constant<std::size_t, 1>{});
    case 2:
      return body(std::integral_constant<std::size_t, 2>{});
    case 4:
      return body(std::integral_constant<std::size_t, 4>{});
    case 8:
      return body(std::integral_constant<std::size_t, 8>{});
    default:
      return body(std::integral_constant<std::size_t, 0>{});
  }
}

// Of 16 bytes each.
template <class D, class V>
HWY_INLINE auto sum_of_blocks(D d, V v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) <= 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// In every block x0 + x2, y0 + y2, x1 + x3, y1 + y3; of doubles x0 + x1, y0 + y1.
template <class D, class V>
HWY_INLINE V sums_in_turns(D d, V x, V y) {
  return hn::Add(hn::InterleaveLower(d, x, y), hn::InterleaveUpper(d, x, y));
}

// sums[i] = the sum of the lanes of v_i, with half the work of one after the other.
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void sums_of_four(D d, V v0, V v1, V v2, V v3, T* sums) {
  const hn::CappedTag<T, 16 / sizeof(T)> block;
  const V v01 = sums_in_turns(d, v0, v1);
  const V v23 = sums_in_turns(d, v2, v3);
  if constexpr (sizeof(T) == 8) {
    hn::StoreU(sum_of_blocks(d, v01), block, sums);
    hn::StoreU(sum_of_blocks(d, v23), block, sums + 2);
  } else {
    const hn::Repartition<double, D> pairs;
    const auto lower = hn::InterleaveLower(pairs, hn::BitCast(pairs, v01), hn::BitCast(pairs, v23));
    const auto upper = hn::InterleaveUpper(pairs, hn::BitCast(pairs, v01), hn::BitCast(pairs, v23));
    hn::StoreU(sum_of_blocks(d, hn::Add(hn::BitCast(d, lower), hn::BitCast(d, upper))), block, sums);
  }
}

template <std::size_t vectors, class T>
HWY_INLINE void backward_rows(const T* w, const T* delta, Active rows, std::size_t columns, T* out) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (vectors > 0) {
    hn::Vec<decltype(d)> kept[vectors];
    unrolled<vectors>([&](auto k) HWY_ATTR { kept[k] = hn::LoadU(d, delta + k * lanes); });
    const auto product_with = [&](std::uint32_t r) HWY_ATTR {
      const T* row = w + r * columns;
      auto sum = hn::Mul(kept[0], hn::LoadU(d, row));
      unrolled<vectors - 1>([&](auto k)
                                HWY_ATTR { sum = hn::MulAdd(kept[k + 1], hn::LoadU(d, row + (k + 1) * lanes), sum); });
      return sum;
    };
    const auto four_rows = [&](const std::uint32_t* r) HWY_ATTR {
      T sums[4];
      sums_of_four(d, product_with(r[0]), product_with(r[1]), product_with(r[2]), product_with(r[3]), sums);
      unrolled<4>([&](auto i) HWY_ATTR { out[r[i]] = sums[i]; });
    };
    std::size_t k = 0;
    for (; k + 4 <= rows.size(); k += 4) four_rows(rows.data() + k);
    for (; k < rows.size(); ++k) out[rows[k]] = sum_of_lanes(d, product_with(rows[k]));
  } else {
    for (const std::uint32_t r : rows) {
      const T* row = w + r * columns;
      hn::Vec<decltype(d)> sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      std::size_t c = 0;
      for (; c + 4 * lanes <= columns; c += 4 * lanes) {
        unrolled<4>([&](auto k) HWY_ATTR {
          sum[k] = hn::MulAdd(hn::LoadU(d, row + c + k * lanes), hn::LoadU(d, delta + c + k * lanes), sum[k]);
        });
      }
      for (; c + lanes <= columns; c += lanes) {
        sum[0] = hn::MulAdd(hn::LoadU(d, row + c), hn::LoadU(d, delta + c), sum[0]);
      }
      T rest = 0;
      for (; c < columns; ++c) rest += row[c] * delta[c];
      out[r] = sum_of_lanes(d, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]))) + rest;
    }
  }
}

template <class T>
void layer_backward(const T* w, const T* delta, Active rows, std::size_t columns, T* out) {
  with_vectors_per_row<T>(
      columns, [&](auto vectors) HWY_ATTR { backward_rows<decltype(vectors)::value>(w, delta, rows, columns, out); });
}

// Stores map(a[k]) to out[k] and appends the positions that are not zero to `active`, eight at a time.
template <class T, class Map>
HWY_INLINE std::size_t map_and_list(const T* a, T* out, std::size_t n, std::uint32_t* active, Map map) {
  const hn::CappedTag<T, 8> d;
  const hn::CappedTag<std::uint32_t, 8> d32;
  const hn::Rebind<std::uint8_t, decltype(d32)> d8;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t count = 0;
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8) {
    unsigned mask = 0;
    for (std::size_t i = 0; i < 8; i += lanes) {
      const auto mapped = map(d, hn::LoadU(d, a + k + i));
      if (out != nullptr) hn::StoreU(mapped, d, out + k + i);
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, hn::Not(hn::Eq(mapped, hn::Zero(d))), bits);  // a NaN does not equal zero either
      mask |= static_cast<unsigned>(bits[0]) << i;
    }
    for (std::size_t i = 0; i < 8; i += hn::Lanes(d32)) {
      const auto position = hn::PromoteTo(d32, hn::LoadU(d8, &compact.at[mask][i]));
      hn::StoreU(hn::Add(hn::Set(d32, static_cast<std::uint32_t>(k)), position), d32, active + count + i);
    }
    count += static_cast<std::size_t>(std::popcount(mask));
  }
  const hn::CappedTag<T, 1> one;
  for (; k < n; ++k) {
    const auto mapped = map(one, hn::LoadU(one, a + k));
    if (out != nullptr) hn::StoreU(mapped, one, out + k);
    active[count] = static_cast<std::uint32_t>(k);
    count += hn::GetLane(mapped) != T{0} ? 1 : 0;
  }
  return count;
}

template <class T>
std::size_t list_nonzero(const T* a, std::size_t n, std::uint32_t* active) {
  return map_and_list<T>(a, nullptr, n, active, [](auto /*d*/, auto x) HWY_ATTR { return x; });
}

template <class T>
std::size_t relu(T* a, std::size_t n, std::uint32_t* active) {
  return map_and_list(a, a, n, active,
                      [](auto d, auto x) HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x); });
}

template <class T>
void relu_backward(const T* a, T* delta, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(hn::LoadU(d, a + k), hn::Zero(d)), hn::LoadU(d, delta + k)), d, delta + k);
  });
}

// Highway's functions do not say what they do to a NaN: it stays one.
template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  const auto lowest = hn::Set(d, hn::TFromD<D>(sizeof(hn::TFromD<D>) == 4 ? -87 : -700));  // whose exp is still finite
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(hn::Max(x, lowest))))));
}

template <class T>
void tanh(T* a, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR { hn::StoreU(tanh_of(d, hn::LoadU(d, a + k)), d, a + k); });
}

template <class T>
void tanh_backward(const T* a, T* delta, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    const auto at = hn::LoadU(d, a + k);
    hn::StoreU(hn::Mul(hn::LoadU(d, delta + k), hn::NegMulAdd(at, at, hn::Set(d, T{1}))), d, delta + k);
  });
}

template <class T>
void lstm_forward(T* gates, const T* c_before, std::size_t n, T* c, T* tanh_c, T* h) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    const auto i = sigmoid_of(d, hn::LoadU(d, gates + k));
    const auto f = sigmoid_of(d, hn::LoadU(d, gates + n + k));
    const auto g = tanh_of(d, hn::LoadU(d, gates + 2 * n + k));
    const auto o = sigmoid_of(d, hn::LoadU(d, gates + 3 * n + k));
    const auto cell = hn::MulAdd(f, hn::LoadU(d, c_before + k), hn::Mul(i, g));
    const auto shown = tanh_of(d, cell);
    hn::StoreU(i, d, gates + k);
    hn::StoreU(f, d, gates + n + k);
    hn::StoreU(g, d, gates + 2 * n + k);
    hn::StoreU(o, d, gates + 3 * n + k);
    hn::StoreU(cell, d, c + k);
    hn::StoreU(shown, d, tanh_c + k);
    hn::StoreU(hn::Mul(o, shown), d, h + k);
  });
}

template <class T>
void lstm_backward(T* gates, const T* c_before, const T* tanh_c, const T* dh, std::size_t n, T* dc) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    const auto one = hn::Set(d, T{1});
    const auto i = hn::LoadU(d, gates + k), f = hn::LoadU(d, gates + n + k);
    const auto g = hn::LoadU(d, gates + 2 * n + k), o = hn::LoadU(d, gates + 3 * n + k);
    const auto shown = hn::LoadU(d, tanh_c + k), at_h = hn::LoadU(d, dh + k);
    const auto at_c = hn::MulAdd(hn::Mul(at_h, o), hn::NegMulAdd(shown, shown, one), hn::LoadU(d, dc + k));
    hn::StoreU(hn::Mul(hn::Mul(at_c, g), hn::Mul(i, hn::Sub(one, i))), d, gates + k);
    hn::StoreU(hn::Mul(hn::Mul(at_c, hn::LoadU(d, c_before + k)), hn::Mul(f, hn::Sub(one, f))), d, gates + n + k);
    hn::StoreU(hn::Mul(hn::Mul(at_c, i), hn::NegMulAdd(g, g, one)), d, gates + 2 * n + k);
    hn::StoreU(hn::Mul(hn::Mul(at_h, shown), hn::Mul(o, hn::Sub(one, o))), d, gates + 3 * n + k);
    hn::StoreU(hn::Mul(at_c, f), d, dc + k);
  });
}

// One by one: bringing several together to add to them at once takes more work than it saves.
template <class T>
void scatter_add(T* w, const std::uint32_t* index, const T* x, std::size_t n, T factor) {
  const std::size_t whole = n - n % 8;
  for (std::size_t k = 0; k < whole; k += 8) {
    unrolled<8>([&](auto i) HWY_ATTR { w[index[k + i]] += factor * x[k + i]; });
  }
  for (std::size_t k = whole; k < n; ++k) w[index[k]] += factor * x[k];
}

template <class T>
void add(T* w, const T* d, std::size_t n, T factor) {
  for_each_vector<T>(n, [&](auto tag, std::size_t k) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(tag, factor), hn::LoadU(tag, d + k), hn::LoadU(tag, w + k)), tag, w + k);
  });
}

template <class T>
void add_outer(T* w, const T* u, Active rows, const T* v, std::size_t columns, T factor) {
  with_vectors_per_row<T>(columns, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t count = decltype(vectors)::value;
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    if constexpr (count > 0) {
      hn::Vec<decltype(d)> kept[count];
      unrolled<count>([&](auto k) HWY_ATTR { kept[k] = hn::LoadU(d, v + k * lanes); });
      for (const std::uint32_t r : rows) {
        T* row = w + r * columns;
        const auto scale = hn::Set(d, factor * u[r]);
        unrolled<count>([&](auto k) HWY_ATTR {
          hn::StoreU(hn::MulAdd(scale, kept[k], hn::LoadU(d, row + k * lanes)), d, row + k * lanes);
        });
      }
    } else {
      for (const std::uint32_t r : rows) add(w + r * columns, v, columns, factor * u[r]);
    }
  });
}

template <class T>
void shrink(T* w, std::size_t n, T factor) {
  for_each_vector<T>(n, [&](auto d, std::size_t k)
                            HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, w + k), hn::Set(d, factor)), d, w + k); });
}

template <class T>
void average(T* mean, const T* w, std::size_t n, T share) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    const auto old = hn::LoadU(d, mean + k);
    hn::StoreU(hn::MulAdd(hn::Set(d, share), hn::Sub(hn::LoadU(d, w + k), old), old), d, mean + k);
  });
}

// The constants of a step in every lane, and what the formulas make of them alone.
template <class D, class T = hn::TFromD<D>>
struct VectorConstants {
  VectorConstants(D d, const StepConstants<T>& step)
      : alpha(hn::Set(d, step.alpha)),
        beta1(hn::Set(d, step.beta1)),
        mixed1(hn::Set(d, T{1} - step.beta1)),
        root_beta2(hn::Set(d, step.root_beta2)),
        mixed2(hn::Set(d, (T{1} - step.root_beta2) * (T{1} + step.root_beta2))),
        eps(hn::Set(d, step.eps)),
        corrected_alpha(hn::Set(d, step.alpha * step.correction1)),
        root2(hn::Set(d, step.root2)),
        shrink(hn::Set(d, step.alpha * step.decay)) {}
  hn::Vec<D> alpha, beta1, mixed1, root_beta2, mixed2, eps, corrected_alpha, root2, shrink;
};

// What a vector of weights loses, by the formulas of the header. Without `decays` all decay is zero; a vector that
// `rests` has g = 0.
template <Method method, bool decays, bool rests, class D, class V>
HWY_INLINE V transformed(const VectorConstants<D>& step, V g, V w, V& a, V& b) {
  if constexpr (method == Method::momentum || method == Method::nesterov) {
    a = hn::MulAdd(step.beta1, a, g);
    return hn::Mul(step.alpha, method == Method::momentum ? a : hn::MulAdd(step.beta1, a, g));
  } else if constexpr (method == Method::adagrad) {
    a = hn::MulAdd(g, g, a);
    return hn::Mul(step.alpha, hn::Div(g, hn::Add(hn::Sqrt(a), step.eps)));
  } else if constexpr (method == Method::rmsprop) {
    a = hn::Mul(step.beta1, a);
    if constexpr (rests) return g;
    a = hn::MulAdd(hn::Mul(step.mixed1, g), g, a);
    return hn::Mul(step.alpha, hn::Div(g, hn::Add(hn::Sqrt(a), step.eps)));
  } else if constexpr (method == Method::adadelta) {
    a = hn::Mul(step.beta1, a);
    const auto decayed = hn::Mul(step.beta1, b);
    if constexpr (rests) {
      b = decayed;
      return g;
    }
    a = hn::MulAdd(hn::Mul(step.mixed1, g), g, a);
    const auto x = hn::Mul(g, hn::Sqrt(hn::Div(hn::Add(b, step.eps), hn::Add(a, step.eps))));
    b = hn::MulAdd(hn::Mul(step.mixed1, x), x, decayed);
    return hn::Mul(step.alpha, x);
  } else if constexpr (method == Method::adam) {
    a = hn::Mul(step.beta1, a);
    b = hn::Mul(step.root_beta2, b);
    if constexpr (!rests) {
      a = hn::MulAdd(step.mixed1, g, a);
      b = hn::Sqrt(hn::MulAdd(hn::Mul(step.mixed2, g), g, hn::Mul(b, b)));
    }
    const auto root = hn::MulAdd(step.root2, b, step.eps);
    // The product first: where denormals are kept, dividing a moment that has decayed to one takes many times as long.
    const auto lost = hn::Div(hn::Mul(step.corrected_alpha, a), root);
    return decays ? hn::MulAdd(step.shrink, w, lost) : lost;
  } else {
    return hn::Mul(step.alpha, g);
  }
}

template <Method method>
inline constexpr bool has_a = method != Method::plain;
template <Method method>
inline constexpr bool has_b = method == Method::adam || method == Method::adadelta;

// -j^T dw: added up in lanes, and what does not fill a vector apart.
template <class T>
struct Drop {
  hn::Vec<hn::ScalableTag<T>> lanes;
  T rest;
};

// The constants of a step, for whole vectors and for what does not fill one.
template <class T>
struct UpdateConstants {
  explicit UpdateConstants(const StepConstants<T>& step) : whole({}, step), single({}, step) {}
  template <class D>
  const VectorConstants<D>& operator()(D /*tag*/) const {
    if constexpr (std::is_same_v<D, hn::ScalableTag<T>>) {
      return whole;
    } else {
      return single;
    }
  }
  VectorConstants<hn::ScalableTag<T>> whole;
  VectorConstants<hn::CappedTag<T, 1>> single;
};

template <Method method, bool decays, bool rests, class T>
HWY_INLINE void update_vectors(const UpdateConstants<T>& step, Weights<T> at, const T* j, const T* d, T c, T decay,
                               std::size_t n, Drop<T>& drop) {
  for_each_vector<T>(n, [&](auto tag, std::size_t k) HWY_ATTR {
    using V = hn::Vec<decltype(tag)>;
    const V w = hn::LoadU(tag, at.w + k);
    V a = hn::Zero(tag);
    V b = hn::Zero(tag);
    if constexpr (has_a<method>) a = hn::LoadU(tag, at.a + k);
    if constexpr (has_b<method>) b = hn::LoadU(tag, at.b + k);
    V g = hn::Zero(tag);
    if constexpr (!rests) g = hn::Mul(hn::Set(tag, c), hn::LoadU(tag, d + k));
    if constexpr (!rests && decays) g = hn::MulAdd(hn::Set(tag, decay), w, g);
    const V lost = transformed<method, decays, rests>(step(tag), g, w, a, b);
    hn::StoreU(hn::Sub(w, lost), tag, at.w + k);
    if constexpr (has_a<method>) hn::StoreU(a, tag, at.a + k);
    if constexpr (has_b<method>) hn::StoreU(b, tag, at.b + k);
    if constexpr (std::is_same_v<decltype(tag), hn::ScalableTag<T>>) {
      drop.lanes = hn::MulAdd(hn::LoadU(tag, j + k), lost, drop.lanes);
    } else {
      drop.rest += j[k] * hn::GetLane(lost);
    }
  });
}

// Calls body with whether there is any decay, as a constant: most runs have none.
template <class T, class Body>
HWY_INLINE double with_decay(const StepConstants<T>& step, T decay, Body body) {
  return decay == 0 && step.decay == 0 ? body(std::false_type{}) : body(std::true_type{});
}

template <class T>
HWY_INLINE double total(const Drop<T>& drop) {
  return static_cast<double>(sum_of_lanes(hn::ScalableTag<T>{}, drop.lanes)) + static_cast<double>(drop.rest);
}

template <Method method, class T>
double update(const StepConstants<T>& step, Weights<T> at, const T* j, const T* d, T c, T decay, std::size_t n) {
  return with_decay(step, decay, [&](auto decays) HWY_ATTR {
    Drop<T> drop{hn::Zero(hn::ScalableTag<T>{}), T{0}};
    const UpdateConstants<T> constants(step);
    const auto run = [&](auto rests) HWY_ATTR {
      update_vectors<method, decltype(decays)::value, decltype(rests)::value>(constants, at, j, d, c, decay, n, drop);
    };
    if (can_rest(method) && c == 0 && decay == 0) {
      run(std::bool_constant<can_rest(method)>{});
    } else {
      run(std::false_type{});
    }
    return -total(drop);
  });
}

// Which of at most 64 rows have a factor that is not zero, as bits.
template <class T>
HWY_INLINE std::uint64_t rows_at_work(const T* ud, const std::uint32_t* rows, std::size_t begin, std::size_t end, T c) {
  std::uint64_t bits = 0;
  for (std::size_t i = begin; i < end; ++i) {
    bits |= std::uint64_t{c * ud[rows == nullptr ? i : rows[i]] != 0} << (i - begin);
  }
  return bits;
}

template <class Body>
HWY_INLINE void for_each_bit(std::uint64_t bits, Body body) {
  for (; bits != 0; bits &= bits - 1) body(static_cast<std::size_t>(std::countr_zero(bits)));
}

template <Method method, class T>
double update_outer(const StepConstants<T>& step, Weights<T> at, const T* uj, const T* ud, const std::uint32_t* rows,
                    std::size_t count, const T* v, std::size_t columns, T c, T decay) {
  return with_decay(step, decay, [&](auto decays) HWY_ATTR {
    const hn::ScalableTag<T> tag;
    const UpdateConstants<T> constants(step);
    Drop<T> drop{hn::Zero(tag), T{0}};
    const auto update_row = [&](std::size_t i, auto rests) HWY_ATTR {
      const std::size_t r = rows == nullptr ? i : rows[i];
      const std::size_t k = r * columns;
      const Weights<T> row{at.w + k, has_a<method> ? at.a + k : nullptr, has_b<method> ? at.b + k : nullptr};
      Drop<T> row_drop{hn::Zero(tag), T{0}};
      update_vectors<method, decltype(decays)::value, decltype(rests)::value>(constants, row, v, v, c * ud[r], decay,
                                                                              columns, row_drop);
      drop.lanes = hn::MulAdd(hn::Set(tag, uj[r]), row_drop.lanes, drop.lanes);
      drop.rest += uj[r] * row_drop.rest;
    };
    // First the active rows, then the resting ones: a branch per row would often be mispredicted.
    for (std::size_t begin = 0; begin < count; begin += 64) {
      const std::size_t end = std::min(begin + 64, count);
      const std::uint64_t all = ~std::uint64_t{0} >> (64 - (end - begin));
      const std::uint64_t at_work = can_rest(method) && decay == 0 ? rows_at_work(ud, rows, begin, end, c) : all;
      for_each_bit(at_work, [&](std::size_t i) HWY_ATTR { update_row(begin + i, std::false_type{}); });
      for_each_bit(all & ~at_work,
                   [&](std::size_t i) HWY_ATTR { update_row(begin + i, std::bool_constant<can_rest(method)>{}); });
    }
    return -total(drop);
  });
}

template <class T>
void adam_idle(const AdamIdle<T>& idle, Weights<T> at, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t k) HWY_ATTR {
    using V = hn::Vec<decltype(d)>;
    const V a = hn::LoadU(d, at.a + k);
    const V b = hn::LoadU(d, at.b + k);
    const V eps = hn::Set(d, idle.eps);
    const V inverse = hn::Div(hn::Set(d, T{1}), b);  // infinite where b is 0; then the terms decide
    const V ratio = hn::Mul(eps, inverse);
    const auto idle_lane = hn::Eq(a, hn::Zero(d));
    V sum;
    if (hn::AllTrue(d, hn::Or(hn::Lt(ratio, hn::Set(d, idle.limit)), idle_lane))) {
      const V inner = hn::NegMulAdd(ratio, hn::Set(d, idle.series[2]), hn::Set(d, idle.series[1]));
      sum = hn::Mul(hn::NegMulAdd(ratio, inner, hn::Set(d, idle.series[0])), inverse);
    } else {
      sum = hn::Zero(d);
      for (std::size_t i = 0; i < idle.factor.size(); ++i) {
        const V root = hn::MulAdd(hn::Set(d, idle.root[i]), b, eps);
        sum = hn::Add(sum, hn::Div(hn::Set(d, idle.factor[i]), root));
      }
    }
    const V drift = hn::IfThenZeroElse(idle_lane, hn::Mul(a, sum));
    hn::StoreU(hn::MulSub(hn::Set(d, idle.keep), hn::LoadU(d, at.w + k), drift), d, at.w + k);
    hn::StoreU(hn::Mul(a, hn::Set(d, idle.beta1_k)), d, at.a + k);
    hn::StoreU(hn::Mul(b, hn::Set(d, idle.root_beta2_k)), d, at.b + k);
  });
}

template <class T>
constexpr Kernels<T> make_table(const char* name) {
  return {
      name,
      increasing_below,
      dot<T>,
      gather_dot<T>,
      layer_forward<T>,
      layer_backward<T>,
      product<T>,
      column_products<T>,
      cholesky,
      cholesky_solve,
      list_nonzero<T>,
      relu<T>,
      relu_backward<T>,
      tanh<T>,
      tanh_backward<T>,
      lstm_forward<T>,
      lstm_backward<T>,
      scatter_add<T>,
      add<T>,
      add_outer<T>,
      shrink<T>,
      average<T>,
      {update<Method::plain, T>, update<Method::momentum, T>, update<Method::nesterov, T>, update<Method::adagrad, T>,
       update<Method::rmsprop, T>, update<Method::adadelta, T>, update<Method::adam, T>},
      {update_outer<Method::plain, T>, update_outer<Method::momentum, T>, update_outer<Method::nesterov, T>,
       update_outer<Method::adagrad, T>, update_outer<Method::rmsprop, T>, update_outer<Method::adadelta, T>,
       update_outer<Method::adam, T>},
      adam_idle<T>};
}

const Kernels<float>* float_table() {
  static const Kernels<float> made = make_table<float>(hwy::TargetName(HWY_TARGET));
  return &made;
}

const Kernels<double>* double_table() {
  static const Kernels<double> made = make_table<double>(hwy::TargetName(HWY_TARGET));
  return &made;
}

#endif  // IGND_NO_VECTORS
}  // namespace ignd::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ignd::kernels {

HWY_EXPORT(float_table);
HWY_EXPORT(double_table);

namespace {

template <class T>
const Kernels<T>* best() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  if constexpr (std::is_same_v<T, float>) {
    return HWY_DYNAMIC_DISPATCH(float_table)();
  } else {
    return HWY_DYNAMIC_DISPATCH(double_table)();
  }
}

}  // namespace

template <class T>
const Kernels<T>& choose_table() {
  static const Kernels<T>& chosen = *best<T>();
  chosen_table<T>.store(&chosen, std::memory_order_release);
  return chosen;
}

template <class T>
std::vector<const Kernels<T>*> all_tables() {
  // Chosen before the loop below switches targets.
  table<float>();
  table<double>();
  std::vector<const Kernels<T>*> tables{&scalar_table<T>()};
  for (auto left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    const Kernels<T>* of_target = best<T>();
    if (of_target != tables.front()) tables.push_back(of_target);  // without vectors it is the scalar one again
  }
  hwy::SetSupportedTargetsForTest(0);
  best<T>();
  return tables;
}

template const Kernels<float>& choose_table();
template const Kernels<double>& choose_table();
template std::vector<const Kernels<float>*> all_tables();
template std::vector<const Kernels<double>*> all_tables();

}  // namespace ignd::kernels
#endif
