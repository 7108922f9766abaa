#pragma once

#include "ignd/api.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace ignd {

// The sensitivity j = grad_w f is a list of blocks, each in the cheapest form its layer has. Writing j out would cost
// as much memory traffic as the update itself. Blocks are views: the arrays belong to a Trace or a preconditioner.
// `offset` is where the block's weights start in the flat parameter array.

// A dense layer stored by input unit: j[r][c] = u[r] * v[c], with u the layer's inputs and v the output's
// derivative with respect to each unit.
template <class T>
struct Outer {
  std::size_t offset = 0;
  std::span<const T> u;
  std::span<const T> v;
  std::span<const std::uint32_t> active;  // the rows with u != 0, in increasing order
  // Set by the trainer: transforms skip the other rows, which are brought up to date when they are next read.
  bool rows_wait = false;
  bool on_input = false;  // row r multiplies the sample's input r: a preconditioner applies here
};

template <class T>
struct Dense {
  std::size_t offset = 0;
  std::span<const T> j;
  bool on_input = false;
};

// Some rows of a table of `width` weights each; the other rows have zero sensitivity. `index` is strictly
// increasing, `rows` holds index.size() * width numbers.
template <class T>
struct SparseRows {
  std::size_t offset = 0;
  std::size_t width = 1;
  std::span<const std::uint32_t> index;
  std::span<const T> rows;
  bool on_input = false;  // only with width 1
};

template <class T>
using Block = std::variant<Outer<T>, Dense<T>, SparseRows<T>>;

template <class T>
using Sensitivity = std::vector<Block<T>>;

// a^T b for some rows of one table.
template <class T>
IGND_API double inner_product(const SparseRows<T>& a, const SparseRows<T>& b);

// a^T b for two sensitivities of one model, which have the same blocks in the same order (the rows may differ).
template <class T>
IGND_API double inner_product(const Sensitivity<T>& a, const Sensitivity<T>& b);

template <class T>
double squared_norm(const Sensitivity<T>& j) {
  return inner_product(j, j);
}

// Writes j out as a flat vector of the model's size, for checks and for small models.
template <class T>
IGND_API void write_dense(const Sensitivity<T>& j, std::span<T> out);

}  // namespace ignd
