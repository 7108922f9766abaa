#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The inner loops over plain arrays. Nothing outside this folder knows an instruction set: one table of functions per
// instruction set is compiled into the library, and the best that the machine has is used. scalar.cpp is the same in
// plain loops, which every other table is tested against. Sums have a fixed order per table.
namespace ignd::kernels {

// What a transform does to one weight w with state a, b under the direction g (w loses alpha times the last
// expression):
//   plain      g
//   momentum   a = beta1 a + g;  a
//   nesterov   a = beta1 a + g;  g + beta1 a
//   adagrad    a = a + g^2;  g / (sqrt(a) + eps)
//   rmsprop    a = beta1 a + (1 - beta1) g^2;  g / (sqrt(a) + eps)
//   adadelta   a = beta1 a + (1 - beta1) g^2;  x = g sqrt((b + eps) / (a + eps));  b = beta1 b + (1 - beta1) x^2;  x
//   adam       a = beta1 a + (1 - beta1) g;  b = sqrt((root_beta2 b)^2 + (1 - root_beta2^2) g^2);
//              correction1 a / (root2 b + eps) + decay w, with root2 = sqrt(correction2)
// Adam's b is the root of the second moment and not the moment itself: where g is zero no root has to be taken then.
enum class Method { plain, momentum, nesterov, adagrad, rmsprop, adadelta, adam };
inline constexpr std::size_t method_count = 7;

// Whether a weight with g = 0 changes but needs no root for it. Then a run of weights whose factor c is zero rests:
// d is not read. (Under adagrad such rows are left out altogether.)
constexpr bool can_rest(Method method) {
  return method == Method::rmsprop || method == Method::adadelta || method == Method::adam;
}

// The constants of one step; a method looks only at those in its formula.
template <class T>
struct StepConstants {
  T alpha = 0, beta1 = 0, root_beta2 = 0, eps = 0, correction1 = 1, root2 = 1, decay = 0;
};

// A run of weights and the same run of their state.
template <class T>
struct Weights {
  T* w = nullptr;
  T* a = nullptr;
  T* b = nullptr;
};

// Rows of a matrix that have work to do, in increasing order.
using Active = std::span<const std::uint32_t>;

// What k steps with g = 0 add up to under adam: w = keep w - sum_i factor[i] a / (root[i] b + eps), followed by
// a *= beta1^k and b *= root_beta2^k. Where eps / b is below `limit` the sum is expanded in eps, with
// series[n] = sum_i factor[i] / root[i]^(n + 1), and costs one division however long it is.
template <class T>
struct AdamIdle {
  std::span<const T> factor, root;
  std::array<T, 3> series{};
  T limit = 0, eps = 0, keep = 1, beta1_k = 1, root_beta2_k = 1;
};

// The size of eps / (root b), for the smallest root, below which three terms of the series are exact to rounding.
template <class T>
inline constexpr T series_limit = sizeof(T) == sizeof(float) ? T(1e-3) : T(1e-5);

struct DotAndSquares {
  double dot = 0, squares = 0;
};

// out[i][c] = factor sum_k a(i, k) b[k][c], on top of what out holds if `add`, with a(i, k) at
// a[i a_row_stride + k a_column_stride], so that a may lie transposed. The others lie row by row. out overlaps neither.
// A sum has the same bits whatever rows and columns are computed with it, unless there is a single column.
template <class T>
struct Product {
  std::size_t rows = 0, depth = 0, columns = 0;
  const T* a = nullptr;
  std::size_t a_row_stride = 0, a_column_stride = 0;
  const T* b = nullptr;
  std::size_t b_stride = 0;
  T* out = nullptr;
  std::size_t out_stride = 0;
  T factor = 1;
  bool add = false;
  bool upper = false;  // only c >= i is asked for; what lies below may be computed or not
};

template <class T>
struct Kernels {
  const char* name;

  // index[0] < index[1] < ... < limit
  bool (*increasing_below)(const std::uint32_t* index, std::size_t n, std::uint32_t limit);
  // sum_k a[k] b[k], in double
  double (*dot)(const T* a, const T* b, std::size_t n);
  // sum_k w[index[k]] x[k] and sum_k x[k]^2, in double
  DotAndSquares (*gather_dot)(const T* w, const std::uint32_t* index, const T* x, std::size_t n);

  // out[c] = sum over the active rows of u[r] w[r][c]
  void (*layer_forward)(const T* w, const T* u, Active rows, std::size_t columns, T* out);
  // out[r] = sum_c w[r][c] delta[c] for the active rows; the order of a sum depends on the row's place among them
  void (*layer_backward)(const T* w, const T* delta, Active rows, std::size_t columns, T* out);
  void (*product)(const Product<T>& p);
  // sums[c] = sum_r a[r][c] b[r][c] of two matrices that lie row by row
  void (*column_products)(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t rows,
                          std::size_t columns, T* sums);
  // The L with L L^T = a, in place, for a symmetric matrix of which only the lower triangle is looked at, stored column
  // by column: (i, k) at a[k stride + i] with i >= k. What lies on the other side of the diagonal may be overwritten.
  // False, with anything in a, unless every pivot is finite, normal and above n epsilon times the diagonal entry it
  // came from.
  bool (*cholesky)(double* a, std::size_t n, std::size_t stride);
  // x = (L L^T)^-1 x
  void (*cholesky_solve)(const double* l, std::size_t n, std::size_t stride, double* x);
  // Writes the k with a[k] != 0 to `active`, which has room for n, and returns how many; relu cuts off what is below
  // zero first. A NaN stays one, and is active.
  std::size_t (*list_nonzero)(const T* a, std::size_t n, std::uint32_t* active);
  std::size_t (*relu)(T* a, std::size_t n, std::uint32_t* active);
  void (*relu_backward)(const T* a, T* delta, std::size_t n);  // delta[k] = 0 where a[k] = 0
  void (*tanh)(T* a, std::size_t n);                           // a[k] = tanh(a[k])
  void (*tanh_backward)(const T* a, T* delta, std::size_t n);  // delta[k] *= 1 - a[k]^2

  // A step of an LSTM of n cells. `gates` holds the sums of the input, forget, candidate and output gates, n each, and
  // gets their values i, f, g, o; then c = f c_before + i g, tanh_c = tanh(c) and h = o tanh_c.
  void (*lstm_forward)(T* gates, const T* c_before, std::size_t n, T* c, T* tanh_c, T* h);
  // The way back: from the derivatives with respect to h and, from later steps, to c. `gates` gets those with respect
  // to the sums of the gates, dc those with respect to c_before.
  void (*lstm_backward)(T* gates, const T* c_before, const T* tanh_c, const T* dh, std::size_t n, T* dc);

  // w[index[k]] += factor x[k] for distinct indices
  void (*scatter_add)(T* w, const std::uint32_t* index, const T* x, std::size_t n, T factor);
  void (*add)(T* w, const T* d, std::size_t n, T factor);  // w[k] += factor d[k]
  // w[r][c] += factor u[r] v[c] for the active rows
  void (*add_outer)(T* w, const T* u, Active rows, const T* v, std::size_t columns, T factor);
  void (*shrink)(T* w, std::size_t n, T factor);                 // w[k] *= factor
  void (*average)(T* mean, const T* w, std::size_t n, T share);  // mean[k] += share (w[k] - mean[k])

  // One step with g[k] = c d[k] + decay w[k]; returns sum_k j[k] dw[k].
  using Update = double(const StepConstants<T>& step, Weights<T> at, const T* j, const T* d, T c, T decay,
                        std::size_t n);
  std::array<Update*, method_count> update;
  // The same with j = uj[r] v[c] and d = ud[r] v[c] in the given rows of a matrix, or the first `count` if rows is
  // null.
  using UpdateOuter = double(const StepConstants<T>& step, Weights<T> at, const T* uj, const T* ud,
                             const std::uint32_t* rows, std::size_t count, const T* v, std::size_t columns, T c,
                             T decay);
  std::array<UpdateOuter*, method_count> update_outer;
  void (*adam_idle)(const AdamIdle<T>& idle, Weights<T> at, std::size_t n);
};

// The kernels in use on this machine: chosen at the first call, and a plain pointer from then on.
template <class T>
inline constinit std::atomic<const Kernels<T>*> chosen_table = nullptr;
template <class T>
const Kernels<T>& choose_table();
template <class T>
const Kernels<T>& table() {
  const Kernels<T>* chosen = chosen_table<T>.load(std::memory_order_acquire);
  return chosen != nullptr ? *chosen : choose_table<T>();
}

template <class T>
const Kernels<T>& scalar_table();

// Every table that this machine can run, the scalar one first. For tests: not while other threads use the kernels.
template <class T>
std::vector<const Kernels<T>*> all_tables();

}  // namespace ignd::kernels
