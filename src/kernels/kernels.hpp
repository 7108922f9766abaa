#pragma once

#include <cstddef>
#include <cstdint>

// The inner loops over plain arrays. Nothing outside this folder knows an instruction set; update.hpp beside this file
// has the loops of the transforms. Sums that decide a step are kept in double and have a fixed order.
namespace ignd::kernels {

enum class Unit { relu, tanh, identity };

// sum_k a[k] b[k]
template <class T>
double dot(const T* a, const T* b, std::size_t n);

// sum_k w[index[k]] x[k]
template <class T>
double gather_dot(const T* w, const std::uint32_t* index, const T* x, std::size_t n);

// out[c] = sum_r u[r] w[r][c]; a row whose input is zero is not read.
template <class T>
void layer_forward(const T* w, const T* u, std::size_t rows, std::size_t columns, T* out);

// out[r] = sum_c w[r][c] delta[c]
template <class T>
void layer_backward(const T* w, const T* delta, std::size_t rows, std::size_t columns, T* out);

// a[k] = phi(a[k]). A NaN stays one.
template <class T>
void activate(Unit unit, T* a, std::size_t n);

// delta[k] *= phi'(z), told from the activation a = phi(z).
template <class T>
void activate_backward(Unit unit, const T* a, T* delta, std::size_t n);

// mean[k] += weight * (w[k] - mean[k])
template <class T>
void average(T* mean, const T* w, std::size_t n, double weight);

// w[k] *= factor
template <class T>
void shrink(T* w, std::size_t n, double factor);

// The name of the instruction set that serves the calls above on this machine.
const char* path();

}  // namespace ignd::kernels
