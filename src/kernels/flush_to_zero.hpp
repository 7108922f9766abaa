#pragma once

#include <type_traits>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ignd::kernels {

// While one of these lives, denormal floats count as zero: the hardware is many times slower with them, and a decaying
// moment passes through them. Making one waits for all arithmetic under way, as long as a short step takes. Elsewhere
// than on x86 it does nothing.
class FlushToZero {
 public:
#if defined(__SSE__)
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_results | treat_inputs); }
  ~FlushToZero() { _mm_setcsr(before_); }
#else
  FlushToZero() = default;
  ~FlushToZero() = default;
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;
  FlushToZero(FlushToZero&&) = delete;
  FlushToZero& operator=(FlushToZero&&) = delete;

#if defined(__SSE__)
 private:
  static constexpr unsigned flush_results = 0x8000;
  static constexpr unsigned treat_inputs = 0x0040;
  unsigned before_;
#endif
};

// Only in float: double is for those who look at the last bit.
struct KeepDenormals {};
template <class T>
using FlushToZeroIn = std::conditional_t<std::is_same_v<T, float>, FlushToZero, KeepDenormals>;

}  // namespace ignd::kernels
