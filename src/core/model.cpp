#include "ignd/model.hpp"

#include "core/one_by_one_batch.hpp"
#include "ignd/error.hpp"

#include <new>

#include <fmt/format.h>

namespace ignd {

template <class T>
Model<T>::Model(std::size_t parameter_count) {
  if (parameter_count > most_parameters) {
    throw InvalidArgument(fmt::format("a model has at most {} parameters", most_parameters));
  }
  try {
    w_.resize(parameter_count);
  } catch (const std::bad_alloc&) {
    throw InvalidArgument(fmt::format("there is no memory for a model of {} parameters", parameter_count));
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
