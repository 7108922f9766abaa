#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ignd::kernels {

// Treats denormal numbers as zero for as long as it lives: the hardware is many times slower with them, and a decaying
// moment passes through them or stays there. Switching waits for all pending arithmetic, about as long as a short step
// takes, so only the outermost one switches. Does nothing outside x86.
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
