// What the files that are compiled once per instruction set share. Included once per instruction set too, hence the
// guard that Highway turns around each time.
#if defined(IGND_KERNELS_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef IGND_KERNELS_VECTORS_INL
#undef IGND_KERNELS_VECTORS_INL
#else
#define IGND_KERNELS_VECTORS_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

// Where Highway has no vectors, the plain loops of scalar.cpp do.
#undef IGND_NO_VECTORS
#define IGND_NO_VECTORS (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace ignd::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE hn::TFromD<D> sum_of_lanes(D d, V v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// body(0) ... body(count - 1): unrolled where it is written, so that arrays of vectors stay in registers.
template <std::size_t count, class Body>
HWY_INLINE void unrolled(Body body) {
  static_assert(count <= 16);
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < count; ++k) body(k);
}

}  // namespace ignd::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
