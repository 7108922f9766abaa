#pragma once

#include "support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

// What kernels are fed with in tests, and how their results are compared.
namespace ignd::testing {

// ordinary: N(0, 1) and zeros of both signs. tiny: around the smallest normal number, so that half of them are
// denormal. extreme: ordinary, with an infinity or a NaN now and then.
enum class Kind { ordinary, tiny, extreme };
inline constexpr std::array kinds{Kind::ordinary, Kind::tiny, Kind::extreme};

template <class T>
std::vector<T> random_values(RandomStream& stream, std::size_t n, Kind kind) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr std::array<T, 3> extremes{infinity, -infinity, std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> values(n);
  for (T& value : values) {
    value = static_cast<T>(stream.normal()) * (kind == Kind::tiny ? std::numeric_limits<T>::min() : T{1});
    if (stream.below(8) == 0) value = stream.below(2) == 0 ? T{0} : -T{0};
    if (kind == Kind::extreme && stream.below(50) == 0) value = extremes[stream.below(3)];
  }
  return values;
}

template <class T>
T guard_value() {
  if constexpr (std::is_floating_point_v<T>) {
    return std::numeric_limits<T>::quiet_NaN();  // shows in any result that it gets into
  } else {
    return std::numeric_limits<T>::max() - 1;
  }
}

template <class T>
bool is_guard(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return value == guard_value<T>();
  }
}

// What a kernel reads ends where its memory ends, so that the address sanitizer sees reads beyond it; what it writes
// has guards on both sides.
enum class Role { read, written };

// A copy of some values at an address that is `offset` elements away from an aligned one.
template <class T>
class Array {
 public:
  Array(const std::vector<T>& values, std::size_t offset, Role role = Role::read)
      : before_(guards + offset),
        size_(values.size()),
        storage_(before_ + size_ + (role == Role::written ? guards : 0), guard_value<T>()) {
    std::copy(values.begin(), values.end(), data());
  }
  T* data() { return storage_.data() + before_; }
  T operator[](std::size_t k) const { return storage_[before_ + k]; }
  bool guards_untouched() const {
    const auto begin = storage_.begin() + static_cast<std::ptrdiff_t>(before_);
    return std::all_of(storage_.begin(), begin, is_guard<T>) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(size_), storage_.end(), is_guard<T>);
  }

 private:
  static constexpr std::size_t guards = 16;  // the widest vector
  std::size_t before_, size_;
  std::vector<T> storage_;
};

// Below the smallest normal number a rounding is as large as at it.
template <class T>
double rounding(double size) {
  return static_cast<double>(std::numeric_limits<T>::epsilon()) *
         (size + static_cast<double>(std::numeric_limits<T>::min()));
}

// (which NaN it is does not matter)
template <class T>
bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// NaN and infinities have to be where they are expected. No tolerance means the same bits.
inline bool agree(double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  if (tolerance == 0) return same_bits(got, want);
  return std::isfinite(tolerance) && std::abs(got - want) <= tolerance;
}

}  // namespace ignd::testing
