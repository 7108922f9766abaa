#include "ignd/linear.hpp"

#include "ignd/error.hpp"
#include "kernels/kernels.hpp"
#include "models/mlp_batch.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

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

namespace {

unsigned checked(unsigned bits) {
  if (bits < 1 || bits > 31) throw InvalidArgument(fmt::format("a hashed model has 1 to 31 bits, not {}", bits));
  return bits;
}

std::uint32_t table_size(unsigned bits) { return std::uint32_t{1} << bits; }

// Reserves what a sample of n features needs.
template <class T>
[[gnu::noinline]] void reserve_trace(std::size_t n, Trace<T>& trace) {
  trace.order.reserve(n);
  trace.index.reserve(n + 1);
  trace.scratch.reserve(n + 1);
}

}  // namespace

template <class T>
HashedLinear<T>::HashedLinear(unsigned bits, bool bias)
    : Model<T>(std::size_t{table_size(checked(bits))} + (bias ? 1 : 0)), bits_(bits), bias_(bias) {}

template <class T>
std::string HashedLinear<T>::spec() const {
  return fmt::format("hashed-linear:bits={},bias={}", bits_, bias_ ? 1 : 0);
}

template <class T>
std::vector<RowTable> HashedLinear<T>::row_tables() const {
  return {{0, this->parameters().size(), 1, true}};
}

template <class T>
void HashedLinear<T>::check(const Input<T>& x) const {
  if (x.index.size() != x.values.size()) {
    throw BadSample(fmt::format("the sample has {} indices and {} values", x.index.size(), x.values.size()));
  }
}

template <class T>
void HashedLinear<T>::prepare(Trace<T>& trace) const {
  trace.scratch.clear();
  trace.index.clear();
  trace.j = {SparseRows<T>{0, 1, {}, {}, true}};
}

// Writes the rows that x reads to the trace, each once and in order, and their values. The bias is the row behind all
// others, with the value 1.
template <class T>
void HashedLinear<T>::copy_rows(const Input<T>& x, bool in_order, Trace<T>& trace) const {
  if (in_order) {
    trace.index.assign(x.index.begin(), x.index.end());
    trace.scratch.assign(x.values.begin(), x.values.end());
  } else {
    sort_rows(x, trace);
  }
  if (bias_) {
    trace.index.push_back(table_size(bits_));
    trace.scratch.push_back(T{1});
  }
}

// By weight, and by place in the sample among equals: the sums have one order whatever the sort does.
template <class T>
void HashedLinear<T>::sort_rows(const Input<T>& x, Trace<T>& trace) const {
  const std::uint32_t mask = table_size(bits_) - 1;
  trace.order.resize(x.index.size());
  for (std::size_t k = 0; k < x.index.size(); ++k) trace.order[k] = std::uint64_t{x.index[k] & mask} << 32 | k;
  std::sort(trace.order.begin(), trace.order.end());
  trace.index.clear();
  trace.scratch.clear();
  for (const std::uint64_t entry : trace.order) {
    const auto row = static_cast<std::uint32_t>(entry >> 32);
    const T value = x.values[entry & UINT32_MAX];
    if (!trace.index.empty() && trace.index.back() == row) {
      trace.scratch.back() += value;
    } else {
      trace.index.push_back(row);
      trace.scratch.push_back(value);
    }
  }
}

template <class T>
const SparseRows<T>& HashedLinear<T>::read_rows(const Input<T>& x, Trace<T>& trace) const {
  const std::size_t n = x.index.size();
  if (trace.order.capacity() < n) reserve_trace(n, trace);
  const bool in_order = kernels::table<T>().increasing_below(x.index.data(), n, table_size(bits_));
  auto index = x.index;
  auto values = x.values;
  if (!in_order || bias_) {
    copy_rows(x, in_order, trace);
    index = trace.index;
    values = trace.scratch;
  }
  auto& rows = std::get<SparseRows<T>>(trace.j[0]);
  rows.index = index;
  rows.rows = values;
  return rows;
}

template <class T>
double HashedLinear<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  const SparseRows<T>& read = read_rows(x, trace);
  trace.about_to_read(0, read.index);
  const auto sums =
      kernels::table<T>().gather_dot(this->parameters().data(), read.index.data(), read.rows.data(), read.index.size());
  trace.squared_norm = sums.squares;
  return sums.dot;
}

// The model is linear: its sensitivity is its input, and forward has laid it out.
template <class T>
void HashedLinear<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& /*trace*/) const {}

std::uint32_t hash_feature(std::string_view name) {
  return static_cast<std::uint32_t>(XXH3_64bits(name.data(), name.size()));
}

template class HashedLinear<float>;
template class HashedLinear<double>;

}  // namespace ignd
