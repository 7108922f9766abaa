#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {
namespace {

std::size_t table_size(unsigned bits) {
  if (bits < 1 || bits > 31) throw InvalidArgument(fmt::format("a hashed model has 1 to 31 bits, not {}", bits));
  return std::size_t{1} << bits;
}

}  // namespace

template <class T>
HashedLinear<T>::HashedLinear(unsigned bits, bool bias)
    : Model<T>(table_size(bits) + (bias ? 1 : 0)), bits_(bits), bias_(bias) {}

template <class T>
std::string HashedLinear<T>::spec() const {
  return fmt::format("hashed-linear:bits={},bias={}", bits_, bias_ ? 1 : 0);
}

template <class T>
std::vector<RowTable> HashedLinear<T>::row_tables() const {
  return {{0, table_size(bits_), 1, true}};
}

template <class T>
void HashedLinear<T>::check(const Input<T>& x) const {
  if (x.index.size() != x.values.size()) {
    throw BadSample(fmt::format("the sample has {} indices and {} values", x.index.size(), x.values.size()));
  }
}

template <class T>
void HashedLinear<T>::prepare(Trace<T>& trace) const {
  trace.scratch = {T{1}};  // the bias's input
  trace.index.clear();
  trace.j = {Rows<T>{0, 1, {}, {}, true}};
  if (bias_) trace.j.push_back(Dense<T>{table_size(bits_), {}});
}

// The rows that x reads, each once, and their values: x itself if it is in order, and otherwise a sorted copy, with the
// values behind the bias's input.
template <class T>
Rows<T> HashedLinear<T>::select_rows(const Input<T>& x, Trace<T>& trace) const {
  const auto size = static_cast<std::uint32_t>(table_size(bits_));
  const std::size_t n = x.index.size();
  if (trace.order.capacity() < n) {  // room for the sorted copy, whether or not this sample needs it
    trace.order.reserve(n);
    trace.index.reserve(n);
    trace.scratch.reserve(n + 1);
  }
  if (kernels::table<T>().increasing_below(x.index.data(), x.index.size(), size)) {
    return {0, 1, x.index, x.values, true};
  }
  // Sorted by weight, and by place in the sample among equals: the sums have one order whatever the sort does.
  trace.order.resize(n);
  for (std::size_t k = 0; k < n; ++k) trace.order[k] = std::uint64_t{x.index[k] & (size - 1)} << 32 | k;
  std::sort(trace.order.begin(), trace.order.end());
  trace.index.clear();
  trace.scratch.resize(1);
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
  return {0, 1, trace.index, std::span<const T>(trace.scratch).subspan(1), true};
}

template <class T>
double HashedLinear<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  const Rows<T> rows = select_rows(x, trace);
  trace.j[0] = rows;
  if (bias_) std::get<Dense<T>>(trace.j[1]).j = std::span<const T>(trace.scratch).first(1);
  trace.about_to_read(0, rows.index);
  const auto w = this->parameters();
  const double f = kernels::table<T>().gather_dot(w.data(), rows.index.data(), rows.rows.data(), rows.index.size());
  return bias_ ? f + static_cast<double>(w.back()) : f;
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
