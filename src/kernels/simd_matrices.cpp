// Products and factors of small matrices, with vectors of whatever width the machine has. Compiled once per instruction
// set, like simd.cpp, which puts these functions into its tables.
#include "kernels/kernels.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_matrices.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// (kept apart so that the order stays)
#include <hwy/highway.h>
// (and this one)
#include "kernels/vectors-inl.hpp"

#if !IGND_NO_VECTORS
HWY_BEFORE_NAMESPACE();
namespace ignd::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How a tile reaches memory: by whole vectors, or by the first few lanes of one.
template <class D>
struct Whole {
  using Tag = D;
  HWY_INLINE hn::Vec<D> load(const hn::TFromD<D>* from) const { return hn::LoadU(D{}, from); }
  HWY_INLINE void store(hn::Vec<D> v, hn::TFromD<D>* to) const { hn::StoreU(v, D{}, to); }
};

template <class D>
struct Part {
  using Tag = D;
  hn::Mask<D> mask;
  HWY_INLINE hn::Vec<D> load(const hn::TFromD<D>* from) const { return hn::MaskedLoad(mask, D{}, from); }
  HWY_INLINE void store(hn::Vec<D> v, hn::TFromD<D>* to) const { hn::BlendedStore(v, mask, D{}, to); }
};

// Whether lanes that are masked out are not even read. (In AVX2 that goes for numbers of four and eight bytes.)
inline constexpr bool masks_are_safe = !HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_AVX2;

// body(access, c) for the end of a row, of less than `lanes` numbers: in one part of the narrowest vector that holds
// them (a single one fills its own) or, where masks are not safe, in vectors of half the size, a quarter, and so on.
template <std::size_t lanes, class T, class Body>
HWY_INLINE void for_each_part(std::size_t c, std::size_t columns, Body body) {
  if constexpr (lanes > 1) {
    constexpr std::size_t half = lanes / 2;
    if constexpr (masks_are_safe && lanes > 2) {
      const hn::CappedTag<T, lanes> d;
      if (columns - c > half) return body(Part<decltype(d)>{hn::FirstN(d, columns - c)}, c);
    }
    if (columns - c >= half) {
      body(Whole<hn::CappedTag<T, half>>{}, c);
      c += half;
    }
    for_each_part<half, T>(c, columns, body);
  }
}

// The same for all of a row from c on, whole vectors first. c is not beyond its end.
template <class T, class Body>
HWY_INLINE void for_each_vector_or_part(std::size_t c, std::size_t columns, Body body) {
  using D = hn::ScalableTag<T>;
  constexpr std::size_t lanes = hn::MaxLanes(D{});
  for (; c + lanes <= columns; c += lanes) body(Whole<D>{}, c);
  for_each_part<lanes, T>(c, columns, body);
}

// `rows` x `vectors` sums side by side. Each is one chain over k, wherever a tile begins and ends.
template <std::size_t rows, std::size_t vectors, class Access, class T>
HWY_INLINE void product_tile(Access at, const Product<T>& p, std::size_t i, std::size_t c) {
  using D = typename Access::Tag;
  using V = hn::Vec<D>;
  const D d;
  constexpr std::size_t lanes = hn::MaxLanes(D{});
  const std::size_t a_row_stride = p.a_row_stride, a_column_stride = p.a_column_stride, b_stride = p.b_stride;
  V sum[rows][vectors];
  unrolled<rows>([&](auto r) HWY_ATTR { unrolled<vectors>([&](auto v) HWY_ATTR { sum[r][v] = hn::Zero(d); }); });
  const T* a = p.a + i * a_row_stride;
  const T* b = p.b + c;
  for (std::size_t k = 0; k < p.depth; ++k, a += a_column_stride, b += b_stride) {
    V row[vectors];
    unrolled<vectors>([&](auto v) HWY_ATTR { row[v] = at.load(b + v * lanes); });
    unrolled<rows>([&](auto r) HWY_ATTR {
      const V factor = hn::Set(d, a[r * a_row_stride]);
      unrolled<vectors>([&](auto v) HWY_ATTR { sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]); });
    });
  }
  const V factor = hn::Set(d, p.factor);
  unrolled<rows>([&](auto r) HWY_ATTR {
    T* out = p.out + (i + r) * p.out_stride + c;
    unrolled<vectors>([&](auto v) HWY_ATTR {
      T* to = out + v * lanes;
      at.store(p.add ? hn::MulAdd(factor, sum[r][v], at.load(to)) : hn::Mul(factor, sum[r][v]), to);
    });
  });
}

// Eight sums at least, for as many are under way at once; more where there are registers for them.
inline constexpr bool many_registers = HWY_TARGET != HWY_AVX2 && HWY_TARGET != HWY_SSE4;

template <std::size_t vectors, class Access, class T>
HWY_INLINE void product_columns(Access at, const Product<T>& p, std::size_t c) {
  constexpr std::size_t tall = vectors == 1 || many_registers ? 8 : 4;
  constexpr std::size_t wide = vectors * hn::MaxLanes(typename Access::Tag{});
  const std::size_t rows = p.upper ? std::min(p.rows, c + wide) : p.rows;
  std::size_t i = 0;
  for (; i + tall <= rows; i += tall) product_tile<tall, vectors>(at, p, i, c);
  if (tall > 4 && i + 4 <= rows) product_tile<4, vectors>(at, p, i, c), i += 4;
  if (i + 2 <= rows) product_tile<2, vectors>(at, p, i, c), i += 2;
  if (i < rows) product_tile<1, vectors>(at, p, i, c);
}

// Along a single column vectors would have one lane, along k they have many: not the most there are, so that little is
// left over.
template <class T>
HWY_INLINE void product_with_column(const Product<T>& p) {
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < p.rows; ++i) {
    const T* a = p.a + i * p.a_row_stride;
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::size_t k = 0;
    for (; k + 2 * lanes <= p.depth; k += 2 * lanes) {
      even = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, p.b + k), even);
      odd = hn::MulAdd(hn::LoadU(d, a + k + lanes), hn::LoadU(d, p.b + k + lanes), odd);
    }
    if (k + lanes <= p.depth) {
      even = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, p.b + k), even);
      k += lanes;
    }
    T sum = sum_of_lanes(d, hn::Add(even, odd));
    for (; k < p.depth; ++k) sum += a[k] * p.b[k];
    T& out = p.out[i * p.out_stride];
    out = p.add ? out + p.factor * sum : p.factor * sum;
  }
}

template <class T>
void product(const Product<T>& p) {
  if (p.columns == 1 && p.a_column_stride == 1 && p.b_stride == 1) return product_with_column(p);
  using D = hn::ScalableTag<T>;
  constexpr std::size_t pair = 2 * hn::MaxLanes(D{});
  std::size_t c = 0;
  for (; c + pair <= p.columns; c += pair) product_columns<2>(Whole<D>{}, p, c);
  for_each_vector_or_part<T>(c, p.columns,
                             [&](auto at, std::size_t from) HWY_ATTR { product_columns<1>(at, p, from); });
}

template void product(const Product<float>& p);
template void product(const Product<double>& p);

// Two chains for each vector of columns: one would wait for itself.
template <class T>
void column_products(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t rows,
                     std::size_t columns, T* sums) {
  for_each_vector_or_part<T>(0, columns, [&](auto access, std::size_t c) HWY_ATTR {
    using D = typename decltype(access)::Tag;
    auto even = hn::Zero(D{}), odd = hn::Zero(D{});
    std::size_t r = 0;
    for (; r + 2 <= rows; r += 2) {
      even = hn::MulAdd(access.load(a + r * a_stride + c), access.load(b + r * b_stride + c), even);
      odd = hn::MulAdd(access.load(a + (r + 1) * a_stride + c), access.load(b + (r + 1) * b_stride + c), odd);
    }
    if (r < rows) even = hn::MulAdd(access.load(a + r * a_stride + c), access.load(b + r * b_stride + c), even);
    access.store(hn::Add(even, odd), sums + c);
  });
}

template void column_products(const float*, std::size_t, const float*, std::size_t, std::size_t, std::size_t, float*);
template void column_products(const double*, std::size_t, const double*, std::size_t, std::size_t, std::size_t,
                              double*);

// Columns of L that are worked on at once.
inline constexpr std::size_t block = 8;

// A block on the diagonal, column by column as in the matrix, while it is being factored.
struct DiagonalBlock {
  double at[block][block];     // the columns of L, not yet divided by the roots of the pivots
  double share[block][block];  // how much of column c later columns lose: at[c][i] / at[c][c]
  double inverse_root[block];  // 1 / sqrt(at[c][c])
};

// Rows and columns that the matrix does not have are those of the unit matrix.
HWY_INLINE void load_block(const double* a, std::size_t size, std::size_t stride, DiagonalBlock& to) {
  for (std::size_t c = 0; c < block; ++c) {
    for (std::size_t i = c; i < block; ++i) to.at[c][i] = i < size ? a[c * stride + i] : (i == c ? 1.0 : 0.0);
  }
}

// The pivots wait for each other: from one to the next there is a division, and the roots can wait.
HWY_INLINE bool eliminate(const double* smallest, DiagonalBlock& b) {
  bool good = true;
  unrolled<block>([&](auto c) HWY_ATTR {
    const double pivot = b.at[c][c];
    good = good && pivot > smallest[c] && pivot <= std::numeric_limits<double>::max();
    const double inverse = 1 / pivot;
    unrolled<block>([&](auto j) HWY_ATTR {
      if (j > c) {
        const double share = b.share[c][j] = b.at[c][j] * inverse;
        unrolled<block>([&](auto i) HWY_ATTR {
          if (i >= j) b.at[j][i] -= share * b.at[c][i];
        });
      }
    });
  });
  const hn::CappedTag<double, block> d;
  for (std::size_t c = 0; c < block; c += hn::Lanes(d)) {
    double pivots[block];
    unrolled<hn::MaxLanes(d)>([&](auto k) HWY_ATTR { pivots[k] = b.at[c + k][c + k]; });
    hn::StoreU(hn::Div(hn::Set(d, 1.0), hn::Sqrt(hn::LoadU(d, pivots))), d, b.inverse_root + c);
  }
  return good;
}

// The rows below a block: what lies left of them is already taken off.
HWY_INLINE void solve_below(const DiagonalBlock& b, double* a, std::size_t rows, std::size_t stride) {
  for_each_vector_or_part<double>(block, rows, [&](auto access, std::size_t i) HWY_ATTR {
    using D = typename decltype(access)::Tag;
    const D d;
    hn::Vec<D> column[block];
    unrolled<block>([&](auto c) HWY_ATTR { column[c] = access.load(a + c * stride + i); });
    unrolled<block>([&](auto c) HWY_ATTR {
      unrolled<block>([&](auto j) HWY_ATTR {
        if (j > c) column[j] = hn::NegMulAdd(hn::Set(d, b.share[c][j]), column[c], column[j]);
      });
      access.store(hn::Mul(column[c], hn::Set(d, b.inverse_root[c])), a + c * stride + i);
    });
  });
}

// The columns of L from k on, as many as a block has: those before are done.
HWY_INLINE bool factor_columns(double* a, std::size_t n, std::size_t stride, std::size_t k) {
  const std::size_t size = std::min(block, n - k);
  const double tiny = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  double* corner = a + k * stride + k;
  double smallest[block] = {};
  for (std::size_t c = 0; c < size; ++c) {
    smallest[c] = std::max(tiny * corner[c * stride + c], std::numeric_limits<double>::min());
  }
  product<double>({.rows = size,
                   .depth = k,
                   .columns = n - k,
                   .a = a + k,
                   .a_row_stride = 1,
                   .a_column_stride = stride,
                   .b = a + k,
                   .b_stride = stride,
                   .out = corner,
                   .out_stride = stride,
                   .factor = -1,
                   .add = true});
  DiagonalBlock b;
  load_block(corner, size, stride, b);
  if (!eliminate(smallest, b)) return false;
  for (std::size_t c = 0; c < size; ++c) {
    for (std::size_t i = c; i < size; ++i) corner[c * stride + i] = b.at[c][i] * b.inverse_root[c];
  }
  if (size == block) solve_below(b, corner, n - k, stride);
  return true;
}

bool cholesky(double* a, std::size_t n, std::size_t stride) {
  for (std::size_t k = 0; k < n; k += block) {
    if (!factor_columns(a, n, stride, k)) return false;
  }
  return true;
}

// y and x with L y = x and L^T x = y within a block, in place. Divided by is what does not depend on x, in advance.
template <class Size>
HWY_INLINE void forward_block(const double* l, Size size, std::size_t stride, double* x) {
  double inverse[block];
  for (std::size_t c = 0; c < size; ++c) inverse[c] = 1 / l[c * stride + c];
  for (std::size_t c = 0; c < size; ++c) {
    x[c] *= inverse[c];
    for (std::size_t i = c + 1; i < size; ++i) x[i] -= l[c * stride + i] * x[c];
  }
}

template <class Size>
HWY_INLINE void backward_block(const double* l, Size size, std::size_t stride, double* x) {
  double inverse[block];
  for (std::size_t c = 0; c < size; ++c) inverse[c] = 1 / l[c * stride + c];
  for (std::size_t c = size; c-- > 0;) {
    x[c] *= inverse[c];
    for (std::size_t i = 0; i < c; ++i) x[i] -= l[i * stride + c] * x[c];
  }
}

// What the rows below a block lose to it, and it to them.
HWY_INLINE void forward_below(const double* l, std::size_t rows, std::size_t stride, double* x) {
  for_each_vector_or_part<double>(block, rows, [&](auto access, std::size_t i) HWY_ATTR {
    using D = typename decltype(access)::Tag;
    auto even = access.load(x + i);
    auto odd = hn::Zero(D{});
    unrolled<block / 2>([&](auto c) HWY_ATTR {
      even = hn::NegMulAdd(hn::Set(D{}, x[2 * c]), access.load(l + 2 * c * stride + i), even);
      odd = hn::NegMulAdd(hn::Set(D{}, x[2 * c + 1]), access.load(l + (2 * c + 1) * stride + i), odd);
    });
    access.store(hn::Add(even, odd), x + i);
  });
}

HWY_INLINE void backward_below(const double* l, std::size_t rows, std::size_t stride, double* x) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sum[block];
  unrolled<block>([&](auto c) HWY_ATTR { sum[c] = hn::Zero(d); });
  std::size_t i = block;
  for (; i + lanes <= rows; i += lanes) {
    const auto below = hn::LoadU(d, x + i);
    unrolled<block>([&](auto c) HWY_ATTR { sum[c] = hn::MulAdd(below, hn::LoadU(d, l + c * stride + i), sum[c]); });
  }
  unrolled<block>([&](auto c) HWY_ATTR { x[c] -= sum_of_lanes(d, sum[c]); });
  for (; i < rows; ++i) {
    unrolled<block>([&](auto c) HWY_ATTR { x[c] -= l[c * stride + i] * x[i]; });
  }
}

void cholesky_solve(const double* l, std::size_t n, std::size_t stride, double* x) {
  const std::size_t whole = n - n % block;
  const std::integral_constant<std::size_t, block> all;
  for (std::size_t k = 0; k < whole; k += block) {
    const double* corner = l + k * stride + k;
    forward_block(corner, all, stride, x + k);
    forward_below(corner, n - k, stride, x + k);
  }
  const double* last = l + whole * stride + whole;
  forward_block(last, n - whole, stride, x + whole);
  backward_block(last, n - whole, stride, x + whole);
  for (std::size_t k = whole; k > 0;) {
    k -= block;
    const double* corner = l + k * stride + k;
    backward_below(corner, n - k, stride, x + k);
    backward_block(corner, all, stride, x + k);
  }
}

}  // namespace ignd::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !IGND_NO_VECTORS
