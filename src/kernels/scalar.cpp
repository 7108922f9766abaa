// The portable form of every kernel: plain loops, which the vectorised forms must agree with.
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ignd::kernels {
namespace {

bool increasing_below(const std::uint32_t* index, std::size_t n, std::uint32_t limit) {
  for (std::size_t k = 0; k < n; ++k) {
    if (index[k] >= limit || (k > 0 && index[k - 1] >= index[k])) return false;
  }
  return true;
}

template <class T>
double dot(const T* a, const T* b, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

template <class T>
DotAndSquares gather_dot(const T* w, const std::uint32_t* index, const T* x, std::size_t n) {
  DotAndSquares sums;
  for (std::size_t k = 0; k < n; ++k) {
    sums.dot += static_cast<double>(w[index[k]]) * static_cast<double>(x[k]);
    sums.squares += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  }
  return sums;
}

template <class T>
void layer_forward(const T* w, const T* u, Active rows, std::size_t columns, T* out) {
  std::fill_n(out, columns, T{0});
  for (const std::uint32_t r : rows) {
    for (std::size_t c = 0; c < columns; ++c) out[c] += u[r] * w[r * columns + c];
  }
}

template <class T>
void layer_backward(const T* w, const T* delta, Active rows, std::size_t columns, T* out) {
  for (const std::uint32_t r : rows) {
    out[r] = 0;
    for (std::size_t c = 0; c < columns; ++c) out[r] += w[r * columns + c] * delta[c];
  }
}

template <class T>
void column_products(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t rows,
                     std::size_t columns, T* sums) {
  std::fill_n(sums, columns, T{0});
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) sums[c] += a[r * a_stride + c] * b[r * b_stride + c];
  }
}

template <class T>
void product(const Product<T>& p) {
  for (std::size_t i = 0; i < p.rows; ++i) {
    for (std::size_t c = p.upper ? i : 0; c < p.columns; ++c) {
      T sum = 0;
      for (std::size_t k = 0; k < p.depth; ++k) {
        sum += p.a[i * p.a_row_stride + k * p.a_column_stride] * p.b[k * p.b_stride + c];
      }
      T& out = p.out[i * p.out_stride + c];
      out = p.add ? out + p.factor * sum : p.factor * sum;
    }
  }
}

bool cholesky(double* a, std::size_t n, std::size_t stride) {
  const double tiny = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  for (std::size_t k = 0; k < n; ++k) {
    double* column = a + k * stride;
    const double smallest = std::max(tiny * column[k], std::numeric_limits<double>::min());
    for (std::size_t j = 0; j < k; ++j) {
      const double* before = a + j * stride;
      for (std::size_t i = k; i < n; ++i) column[i] -= before[k] * before[i];
    }
    if (!(column[k] > smallest && std::isfinite(column[k]))) return false;
    const double root = std::sqrt(column[k]);
    for (std::size_t i = k; i < n; ++i) column[i] /= root;
  }
  return true;
}

void cholesky_solve(const double* l, std::size_t n, std::size_t stride, double* x) {
  for (std::size_t k = 0; k < n; ++k) {
    x[k] /= l[k * stride + k];
    for (std::size_t i = k + 1; i < n; ++i) x[i] -= l[k * stride + i] * x[k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t i = k + 1; i < n; ++i) x[k] -= l[k * stride + i] * x[i];
    x[k] /= l[k * stride + k];
  }
}

template <class T>
std::size_t list_nonzero(const T* a, std::size_t n, std::uint32_t* active) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (a[k] != T{0}) active[count++] = static_cast<std::uint32_t>(k);
  }
  return count;
}

template <class T>
std::size_t relu(T* a, std::size_t n, std::uint32_t* active) {
  for (std::size_t k = 0; k < n; ++k) a[k] = a[k] < T{0} ? T{0} : a[k];
  return list_nonzero(a, n, active);
}

template <class T>
void relu_backward(const T* a, T* delta, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) delta[k] = a[k] == T{0} ? T{0} : delta[k];
}

template <class T>
void tanh(T* a, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) a[k] = std::tanh(a[k]);
}

template <class T>
void tanh_backward(const T* a, T* delta, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) delta[k] *= T{1} - a[k] * a[k];
}

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

template <class T>
void lstm_forward(T* gates, const T* c_before, std::size_t n, T* c, T* tanh_c, T* h) {
  for (std::size_t k = 0; k < n; ++k) {
    T &i = gates[k], &f = gates[n + k], &g = gates[2 * n + k], &o = gates[3 * n + k];
    i = sigmoid(i), f = sigmoid(f), g = std::tanh(g), o = sigmoid(o);
    c[k] = f * c_before[k] + i * g;
    tanh_c[k] = std::tanh(c[k]);
    h[k] = o * tanh_c[k];
  }
}

template <class T>
void lstm_backward(T* gates, const T* c_before, const T* tanh_c, const T* dh, std::size_t n, T* dc) {
  for (std::size_t k = 0; k < n; ++k) {
    const T i = gates[k], f = gates[n + k], g = gates[2 * n + k], o = gates[3 * n + k];
    const T at_c = dc[k] + dh[k] * o * (T{1} - tanh_c[k] * tanh_c[k]);
    gates[k] = at_c * g * i * (T{1} - i);
    gates[n + k] = at_c * c_before[k] * f * (T{1} - f);
    gates[2 * n + k] = at_c * i * (T{1} - g * g);
    gates[3 * n + k] = dh[k] * tanh_c[k] * o * (T{1} - o);
    dc[k] = at_c * f;
  }
}

template <class T>
void scatter_add(T* w, const std::uint32_t* index, const T* x, std::size_t n, T factor) {
  for (std::size_t k = 0; k < n; ++k) w[index[k]] += factor * x[k];
}

template <class T>
void add(T* w, const T* d, std::size_t n, T factor) {
  for (std::size_t k = 0; k < n; ++k) w[k] += factor * d[k];
}

template <class T>
void add_outer(T* w, const T* u, Active rows, const T* v, std::size_t columns, T factor) {
  for (const std::uint32_t r : rows) add(w + r * columns, v, columns, factor * u[r]);
}

template <class T>
void shrink(T* w, std::size_t n, T factor) {
  for (std::size_t k = 0; k < n; ++k) w[k] *= factor;
}

template <class T>
void average(T* mean, const T* w, std::size_t n, T share) {
  for (std::size_t k = 0; k < n; ++k) mean[k] += share * (w[k] - mean[k]);
}

// The formulas of the header, for one weight; a method without state never looks at a and b. A weight that rests has
// g = 0.
template <Method method, class T>
T transformed(const StepConstants<T>& step, bool rests, T g, T w, T& a, T& b) {
  const T mixed = T{1} - step.beta1;
  switch (method) {
    case Method::plain:
      return g;
    case Method::momentum:
      return a = step.beta1 * a + g;
    case Method::nesterov:
      a = step.beta1 * a + g;
      return g + step.beta1 * a;
    case Method::adagrad:
      a += g * g;
      return g / (std::sqrt(a) + step.eps);
    case Method::rmsprop:
      a = step.beta1 * a + mixed * g * g;
      return rests ? T{0} : g / (std::sqrt(a) + step.eps);
    case Method::adadelta: {
      a = step.beta1 * a + mixed * g * g;
      const T x = rests ? T{0} : g * std::sqrt((b + step.eps) / (a + step.eps));
      b = step.beta1 * b + mixed * x * x;
      return x;
    }
    case Method::adam:
      a = step.beta1 * a + mixed * g;
      b *= step.root_beta2;
      if (!rests) b = std::sqrt(b * b + (T{1} - step.root_beta2) * (T{1} + step.root_beta2) * g * g);
      return step.correction1 * a / (step.root2 * b + step.eps) + step.decay * w;
  }
}

template <Method method, class T>
double update(const StepConstants<T>& step, Weights<T> at, const T* j, const T* d, T c, T decay, std::size_t n) {
  double h = 0;
  T none = 0;
  const bool decays = decay != 0 || step.decay != 0;  // without, nothing depends on w, not even if it is infinite
  const bool rests = can_rest(method) && c == 0 && decay == 0;
  for (std::size_t k = 0; k < n; ++k) {
    const T w = decays ? at.w[k] : T{0};
    T& a = at.a == nullptr ? none : at.a[k];
    T& b = at.b == nullptr ? none : at.b[k];
    const T g = rests ? T{0} : c * d[k] + decay * w;
    const T change = -step.alpha * transformed<method>(step, rests, g, w, a, b);
    at.w[k] += change;
    h += static_cast<double>(j[k]) * static_cast<double>(change);
  }
  return h;
}

template <Method method, class T>
double update_outer(const StepConstants<T>& step, Weights<T> at, const T* uj, const T* ud, const std::uint32_t* rows,
                    std::size_t count, const T* v, std::size_t columns, T c, T decay) {
  double h = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = rows == nullptr ? i : rows[i];
    const std::size_t k = r * columns;
    const Weights<T> row{at.w + k, at.a == nullptr ? nullptr : at.a + k, at.b == nullptr ? nullptr : at.b + k};
    h += static_cast<double>(uj[r]) * update<method>(step, row, v, v, c * ud[r], decay, columns);
  }
  return h;
}

template <class T>
void adam_idle(const AdamIdle<T>& idle, Weights<T> at, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    T sum = 0;
    for (std::size_t i = 0; i < idle.factor.size(); ++i) sum += idle.factor[i] / (idle.root[i] * at.b[k] + idle.eps);
    at.w[k] = idle.keep * at.w[k] - (at.a[k] == T{0} ? T{0} : at.a[k] * sum);
    at.a[k] *= idle.beta1_k;
    at.b[k] *= idle.root_beta2_k;
  }
}

template <class T>
constexpr Kernels<T> make_table() {
  return {"scalar",
          increasing_below,
          dot,
          gather_dot,
          layer_forward,
          layer_backward,
          product,
          column_products,
          cholesky,
          cholesky_solve,
          list_nonzero,
          relu,
          relu_backward,
          tanh,
          tanh_backward,
          lstm_forward,
          lstm_backward,
          scatter_add,
          add,
          add_outer,
          shrink,
          average,
          {update<Method::plain>, update<Method::momentum>, update<Method::nesterov>, update<Method::adagrad>,
           update<Method::rmsprop>, update<Method::adadelta>, update<Method::adam>},
          {update_outer<Method::plain>, update_outer<Method::momentum>, update_outer<Method::nesterov>,
           update_outer<Method::adagrad>, update_outer<Method::rmsprop>, update_outer<Method::adadelta>,
           update_outer<Method::adam>},
          adam_idle};
}

constexpr Kernels<float> float_table = make_table<float>();
constexpr Kernels<double> double_table = make_table<double>();

}  // namespace

template <>
const Kernels<float>& scalar_table() {
  return float_table;
}

template <>
const Kernels<double>& scalar_table() {
  return double_table;
}

}  // namespace ignd::kernels
