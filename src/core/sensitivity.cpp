#include "ignd/sensitivity.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>

namespace ignd {
namespace {

template <class T>
double product(const Outer<T>& a, const Outer<T>& b) {
  return kernels::table<T>().dot(a.u.data(), b.u.data(), a.u.size()) *
         kernels::table<T>().dot(a.v.data(), b.v.data(), a.v.size());
}

template <class T>
double product(const Dense<T>& a, const Dense<T>& b) {
  return kernels::table<T>().dot(a.j.data(), b.j.data(), a.j.size());
}

template <class T>
double product(const SparseRows<T>& a, const SparseRows<T>& b) {
  return inner_product(a, b);
}

template <class T>
void write(const Outer<T>& block, T* out) {
  for (const T u : block.u) {
    for (const T v : block.v) *out++ = u * v;
  }
}

template <class T>
void write(const Dense<T>& block, T* out) {
  std::copy(block.j.begin(), block.j.end(), out);
}

template <class T>
void write(const SparseRows<T>& block, T* out) {
  for (std::size_t i = 0; i < block.index.size(); ++i) {
    std::copy_n(block.rows.data() + i * block.width, block.width, out + block.index[i] * block.width);
  }
}

}  // namespace

template <class T>
double inner_product(const SparseRows<T>& a, const SparseRows<T>& b) {
  // The usual case, a sensitivity and its own direction, is one dot product.
  if (a.index.data() == b.index.data()) return kernels::table<T>().dot(a.rows.data(), b.rows.data(), a.rows.size());
  double sum = 0;
  for (std::size_t i = 0, k = 0; i < a.index.size() && k < b.index.size();) {
    if (a.index[i] == b.index[k]) {
      sum += kernels::table<T>().dot(a.rows.data() + i * a.width, b.rows.data() + k * b.width, a.width);
      ++i, ++k;
    } else {
      a.index[i] < b.index[k] ? ++i : ++k;
    }
  }
  return sum;
}

template <class T>
double inner_product(const Sensitivity<T>& a, const Sensitivity<T>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::visit([&]<class Form>(const Form& block) { return product(block, std::get<Form>(b[i])); }, a[i]);
  }
  return sum;
}

template <class T>
void write_dense(const Sensitivity<T>& j, std::span<T> out) {
  std::fill(out.begin(), out.end(), T{0});
  for (const auto& any : j) {
    std::visit([&](const auto& block) { write(block, out.data() + block.offset); }, any);
  }
}

template double inner_product(const SparseRows<float>&, const SparseRows<float>&);
template double inner_product(const SparseRows<double>&, const SparseRows<double>&);
template double inner_product(const Sensitivity<float>&, const Sensitivity<float>&);
template double inner_product(const Sensitivity<double>&, const Sensitivity<double>&);
template void write_dense(const Sensitivity<float>&, std::span<float>);
template void write_dense(const Sensitivity<double>&, std::span<double>);

}  // namespace ignd
