// The portable form of every kernel: plain loops, which any vectorised form must agree with.
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>

namespace ignd::kernels {

template <class T>
double dot(const T* a, const T* b, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

template <class T>
double gather_dot(const T* w, const std::uint32_t* index, const T* x, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(w[index[k]]) * static_cast<double>(x[k]);
  return sum;
}

template <class T>
void layer_forward(const T* w, const T* u, std::size_t rows, std::size_t columns, T* out) {
  std::fill_n(out, columns, T{0});
  for (std::size_t r = 0; r < rows; ++r) {
    if (u[r] == T{0}) continue;
    const T* row = w + r * columns;
    for (std::size_t c = 0; c < columns; ++c) out[c] += u[r] * row[c];
  }
}

template <class T>
void layer_backward(const T* w, const T* delta, std::size_t rows, std::size_t columns, T* out) {
  for (std::size_t r = 0; r < rows; ++r) {
    const T* row = w + r * columns;
    T sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += row[c] * delta[c];
    out[r] = sum;
  }
}

template <class T>
void activate(Unit unit, T* a, std::size_t n) {
  if (unit == Unit::relu) {
    for (std::size_t k = 0; k < n; ++k) a[k] = a[k] < T{0} ? T{0} : a[k];
  } else if (unit == Unit::tanh) {
    for (std::size_t k = 0; k < n; ++k) a[k] = std::tanh(a[k]);
  }
}

template <class T>
void activate_backward(Unit unit, const T* a, T* delta, std::size_t n) {
  if (unit == Unit::relu) {
    for (std::size_t k = 0; k < n; ++k) delta[k] = a[k] > T{0} ? delta[k] : T{0};
  } else if (unit == Unit::tanh) {
    for (std::size_t k = 0; k < n; ++k) delta[k] *= T{1} - a[k] * a[k];
  }
}

template <class T>
void average(T* mean, const T* w, std::size_t n, double weight) {
  const T share = static_cast<T>(weight);
  for (std::size_t k = 0; k < n; ++k) mean[k] += share * (w[k] - mean[k]);
}

template <class T>
void shrink(T* w, std::size_t n, double factor) {
  for (std::size_t k = 0; k < n; ++k) w[k] *= static_cast<T>(factor);
}

const char* path() { return "scalar"; }

#define IGND_INSTANTIATE(T)                                                          \
  template double dot(const T*, const T*, std::size_t);                              \
  template double gather_dot(const T*, const std::uint32_t*, const T*, std::size_t); \
  template void layer_forward(const T*, const T*, std::size_t, std::size_t, T*);     \
  template void layer_backward(const T*, const T*, std::size_t, std::size_t, T*);    \
  template void activate(Unit, T*, std::size_t);                                     \
  template void activate_backward(Unit, const T*, T*, std::size_t);                  \
  template void average(T*, const T*, std::size_t, double);                          \
  template void shrink(T*, std::size_t, double);
IGND_INSTANTIATE(float)
IGND_INSTANTIATE(double)
#undef IGND_INSTANTIATE

}  // namespace ignd::kernels
