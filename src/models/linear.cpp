#include "ignd/linear.hpp"

#include "ignd/error.hpp"
#include "kernels/kernels.hpp"
#include "models/mlp_batch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {

template <class T>
Linear<T>::Linear(std::size_t features, bool bias)
    : Model<T>(std::min(features, most_parameters + 1) + (bias ? 1 : 0)), features_(features), bias_(bias) {
  if (features == 0 && !bias) throw InvalidArgument("a linear model needs a feature or a bias");
}

template <class T>
std::string Linear<T>::spec() const {
  return fmt::format("linear:features={},bias={}", features_, bias_ ? 1 : 0);
}

// With a bias it is a network of a single unit, with the same weights in the same order.
template <class T>
std::unique_ptr<Batch<T>> Linear<T>::make_batch(std::size_t size) const {
  if (!bias_) return Model<T>::make_batch(size);
  const std::vector<typename MlpBatch<T>::Layer> unit{{.rows = features_ + 1, .columns = 1, .weights = 0}};
  return std::make_unique<MlpBatch<T>>(*this, unit, Activation::identity, size);
}

template <class T>
void Linear<T>::check(const Input<T>& x) const {
  this->check_dense(x, features_);
}

template <class T>
void Linear<T>::prepare(Trace<T>& trace) const {
  trace.scratch = {T{1}};  // the bias's input
  trace.index.clear();
  // The features' block is the sample itself; until there is one it has the right size and no content of its own.
  trace.j = {Dense<T>{0, this->parameters().first(features_), true}};
  if (bias_) trace.j.push_back(Dense<T>{features_, trace.scratch});
}

template <class T>
double Linear<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  std::get<Dense<T>>(trace.j[0]).j = x.values;
  const auto w = this->parameters();
  const double f = kernels::table<T>().dot(w.data(), x.values.data(), features_);
  return bias_ ? f + static_cast<double>(w[features_]) : f;
}

// The model is linear: its sensitivity is its input, and forward has laid it out.
template <class T>
void Linear<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& /*trace*/) const {}

template class Linear<float>;
template class Linear<double>;

}  // namespace ignd
