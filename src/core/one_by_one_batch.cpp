#include "core/one_by_one_batch.hpp"

#include <algorithm>
#include <stdexcept>

namespace ignd {

template <class T>
OneByOneBatch<T>::OneByOneBatch(const Model<T>& model, std::size_t size) : model_(model), outputs_(size) {
  traces_.reserve(size);
  for (std::size_t s = 0; s < size; ++s) traces_.emplace_back(model);
  for (const auto& block : traces_.front().j) add_block(block);
}

// Weights that multiply the inputs of a linear model are a layer of one unit, whose delta is 1.
template <class T>
void OneByOneBatch<T>::add_block(const Block<T>& block) {
  const std::size_t size = traces_.size();
  Columns columns;
  const auto add_outer = [&](std::size_t offset, std::size_t inputs, std::size_t units, bool on_input) {
    columns.u.resize(inputs * size);
    columns.v.assign(units * size, T{1});
    j_.blocks.push_back(OuterBatch<T>{offset, inputs, units, columns.u.data(), size, columns.v.data(), size, on_input});
  };
  if (const auto* outer = std::get_if<Outer<T>>(&block)) {
    add_outer(outer->offset, outer->u.size(), outer->v.size(), outer->on_input);
  } else if (const auto* dense = std::get_if<Dense<T>>(&block)) {
    if (dense->on_input) {
      add_outer(dense->offset, dense->j.size(), 1, true);
    } else {
      j_.blocks.push_back(DenseBatch<T>{dense->offset, std::vector<std::span<const T>>(size)});
    }
  } else {
    const auto& rows = std::get<SparseRows<T>>(block);
    j_.blocks.push_back(RowsBatch<T>{rows.offset, rows.width, std::vector<SparseRows<T>>(size), rows.on_input});
  }
  columns_.push_back(std::move(columns));
}

template <class T>
std::span<const T> OneByOneBatch<T>::forward(std::span<const Input<T>> x, RowReader* reader) {
  x_ = x;
  for (std::size_t s = 0; s < x.size(); ++s) {
    traces_[s].reader = reader;
    outputs_[s] = static_cast<T>(model_.forward(x[s], traces_[s]));
  }
  return std::span(outputs_).first(x.size());
}

template <class T>
void OneByOneBatch<T>::take(const Block<T>& block, std::size_t sample, std::size_t which) {
  const auto fill_column = [&](AlignedVector<T>& matrix, std::span<const T> values) {
    for (std::size_t r = 0; r < values.size(); ++r) matrix[r * traces_.size() + sample] = values[r];
  };
  if (const auto* outer = std::get_if<Outer<T>>(&block)) {
    fill_column(columns_[which].u, outer->u);
    fill_column(columns_[which].v, outer->v);
  } else if (const auto* dense = std::get_if<Dense<T>>(&block)) {
    if (dense->on_input) {
      fill_column(columns_[which].u, dense->j);
    } else {
      std::get<DenseBatch<T>>(j_.blocks[which]).rows[sample] = dense->j;
    }
  } else {
    std::get<RowsBatch<T>>(j_.blocks[which]).rows[sample] = std::get<SparseRows<T>>(block);
  }
}

template <class T>
const BatchSensitivity<T>& OneByOneBatch<T>::sensitivities() {
  j_.samples = x_.size();
  for (std::size_t s = 0; s < x_.size(); ++s) {
    model_.sensitivity(x_[s], traces_[s]);
    for (std::size_t b = 0; b < j_.blocks.size(); ++b) take(traces_[s].j[b], s, b);
  }
  return j_;
}

template <class T>
const BatchSensitivity<T>& OneByOneBatch<T>::combined(std::span<const T> /*factors*/) {
  throw std::logic_error("a model of one output has nothing to combine");
}

template class OneByOneBatch<float>;
template class OneByOneBatch<double>;

}  // namespace ignd
