#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ignd::kernels {

// While one of these lives, denormal numbers count as zero: the hardware is many times slower with them, and a decaying
// moment passes through them and may stay there. Switching waits for all arithmetic under way, as long as a short step
// takes: the outermost one does it. Elsewhere than on x86 it does nothing.
class FlushToZero {
 public:
#if defined(__SSE__)
  FlushToZero() : before_(_mm_getcsr()) {
    if ((before_ & both) != both) _mm_setcsr(before_ | both);
  }
  ~FlushToZero() {
    if ((before_ & both) != both) _mm_setcsr(before_);
  }
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
  static constexpr unsigned both = 0x8040;  // of results and of operands
  unsigned before_;
#endif
};

}  // namespace ignd::kernels
