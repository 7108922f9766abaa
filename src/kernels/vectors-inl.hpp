// What the files that are compiled once per instruction set share. Included once per instruction set too, hence the
// guard that Highway turns around each time.
#if defined(IGND_KERNELS_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef IGND_KERNELS_VECTORS_INL
#undef IGND_KERNELS_VECTORS_INL
#else
#define IGND_KERNELS_VECTORS_INL
#endif

#include <cstddef>
#include <type_traits>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ignd::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE hn::TFromD<D> sum_of_lanes(D d, V v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// body(integral_constant<0>) ... body(integral_constant<count - 1>): unrolled where it is written, so that arrays of
// vectors stay in registers.
template <std::size_t count, class Body>
HWY_INLINE void unrolled(Body body) {
  [&]<std::size_t... k>(std::index_sequence<k...>) HWY_ATTR { (body(std::integral_constant<std::size_t, k>{}), ...); }
  (std::make_index_sequence<count>{});
}

}  // namespace ignd::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
