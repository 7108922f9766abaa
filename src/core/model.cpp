#include "ignd/model.hpp"

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A batch for any model of one output: its samples go through the model one after the other, each with a trace of its
// own.
template <class T>
class OneByOneBatch final : public Batch<T> {
 public:
  OneByOneBatch(const Model<T>& model, std::size_t size);

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override;
  const BatchSensitivity<T>& sensitivities() override;
  const BatchSensitivity<T>& combined(std::span<const T> factors) override;

 private:
  // The inputs and deltas of a dense layer, one column for each sample; empty for blocks of other forms.
  struct Columns {
    AlignedVector<T> u, v;
  };

  void add_block(const Block<T>& block);
  void take(const Block<T>& block, std::size_t sample, std::size_t which);

  const Model<T>& model_;
  std::vector<Trace<T>> traces_;
  std::vector<T> outputs_;
  std::span<const Input<T>> x_;
  std::vector<Columns> columns_;
  BatchSensitivity<T> j_;
};

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

}  // namespace

template <class T>
Model<T>::Model(std::size_t parameter_count) {
  if (parameter_count > most_parameters) {
    throw InvalidArgument(fmt::format("a model has at most {} parameters", most_parameters));
  }
  try {
    w_.resize(parameter_count);
  } catch (const std::bad_alloc&) {
    throw InvalidArgument(fmt::format("there is not enough memory for a model of {} parameters", parameter_count));
  }
}

template <class T>
std::unique_ptr<Batch<T>> Model<T>::make_batch(std::size_t size) const {
  return std::make_unique<OneByOneBatch<T>>(*this, size);
}

template <class T>
double Model<T>::predict(const Input<T>& x, Trace<T>& trace) const {
  check(x);
  return forward(x, trace);
}

template <class T>
double Model<T>::predict(const Input<T>& x) const {
  Trace<T> trace(*this);
  return predict(x, trace);
}

template <class T>
void Model<T>::check_dense(const Input<T>& x, std::size_t expected) {
  if (!x.index.empty()) throw BadSample("the sample is sparse, but the model reads dense features");
  if (x.values.size() != expected) {
    throw BadSample(fmt::format("the sample has {} features, but the model reads {}", x.values.size(), expected));
  }
}

template class Model<float>;
template class Model<double>;

}  // namespace ignd
