// Compiled once per instruction set, like src/kernels/simd.cpp.
#include "bench/peaks.hpp"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peaks.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// (kept apart so that the order stays)
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ignd::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve sums side by side: more than the multipliers' latency times their number.
template <class T>
double multiply_adds_of(std::size_t rounds) {
  const hn::ScalableTag<T> d;
  // All different: equal ones would be computed once.
  auto s0 = hn::Set(d, T(1)), s1 = hn::Set(d, T(2)), s2 = hn::Set(d, T(3)), s3 = hn::Set(d, T(4));
  auto s4 = hn::Set(d, T(5)), s5 = hn::Set(d, T(6)), s6 = hn::Set(d, T(7)), s7 = hn::Set(d, T(8));
  auto s8 = hn::Set(d, T(9)), s9 = hn::Set(d, T(10)), s10 = hn::Set(d, T(11)), s11 = hn::Set(d, T(12));
  const auto m = hn::Set(d, T(0.5));
  const auto a = hn::Set(d, T(0.25));
  for (std::size_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, m, a), s1 = hn::MulAdd(s1, m, a), s2 = hn::MulAdd(s2, m, a), s3 = hn::MulAdd(s3, m, a);
    s4 = hn::MulAdd(s4, m, a), s5 = hn::MulAdd(s5, m, a), s6 = hn::MulAdd(s6, m, a), s7 = hn::MulAdd(s7, m, a);
    s8 = hn::MulAdd(s8, m, a), s9 = hn::MulAdd(s9, m, a), s10 = hn::MulAdd(s10, m, a), s11 = hn::MulAdd(s11, m, a);
  }
  const auto all =
      hn::Add(hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7))),
              hn::Add(hn::Add(s8, s9), hn::Add(s10, s11)));
  volatile T sink = hn::GetLane(all);
  (void)sink;
  return static_cast<double>(rounds * 12 * hn::Lanes(d));
}

template <class T>
double stored_bytes_of(std::size_t rounds) {
  constexpr std::size_t size = 8192 / sizeof(T);
  HWY_ALIGN static thread_local T buffer[size];
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  T* to = buffer;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto value = hn::Set(d, static_cast<T>(i));
    for (std::size_t k = 0; k + 4 * lanes <= size; k += 4 * lanes) {
      hn::Store(value, d, to + k);
      hn::Store(value, d, to + k + lanes);
      hn::Store(value, d, to + k + 2 * lanes);
      hn::Store(value, d, to + k + 3 * lanes);
    }
    asm volatile("" : : "r"(to) : "memory");  // the stores count as read
  }
  return static_cast<double>(rounds) * static_cast<double>(size * sizeof(T));
}

template <class T>
double roots_and_quotients_of(std::size_t rounds) {
  const hn::ScalableTag<T> d;
  auto s0 = hn::Set(d, T(1)), s1 = hn::Set(d, T(2)), s2 = hn::Set(d, T(3)), s3 = hn::Set(d, T(4));
  auto s4 = hn::Set(d, T(5)), s5 = hn::Set(d, T(6)), s6 = hn::Set(d, T(7)), s7 = hn::Set(d, T(8));
  const auto one = hn::Set(d, T(1.5));
  const auto work = [&](auto x) HWY_ATTR { return hn::Div(one, hn::Add(hn::Sqrt(x), one)); };
  for (std::size_t i = 0; i < rounds; ++i) {
    s0 = work(s0), s1 = work(s1), s2 = work(s2), s3 = work(s3), s4 = work(s4), s5 = work(s5), s6 = work(s6),
    s7 = work(s7);
  }
  volatile T sink =
      hn::GetLane(hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7))));
  (void)sink;
  return static_cast<double>(rounds * 8 * hn::Lanes(d));
}

double read_bytes_of(const float* array, std::size_t size) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::size_t k = 0;
  for (; k + 4 * lanes <= size; k += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, array + k));
    s1 = hn::Add(s1, hn::LoadU(d, array + k + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, array + k + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, array + k + 3 * lanes));
  }
  volatile float sink = hn::GetLane(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  (void)sink;
  return static_cast<double>(k * sizeof(float));
}

double updated_bytes_of(float* array, std::size_t size) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0F);
  std::size_t k = 0;
  for (; k + lanes <= size; k += lanes) hn::StoreU(hn::Add(one, hn::LoadU(d, array + k)), d, array + k);
  return static_cast<double>(k * sizeof(float));
}

double multiply_adds_float(std::size_t rounds) { return multiply_adds_of<float>(rounds); }
double multiply_adds_double(std::size_t rounds) { return multiply_adds_of<double>(rounds); }
double stored_bytes_float(std::size_t rounds) { return stored_bytes_of<float>(rounds); }
double stored_bytes_double(std::size_t rounds) { return stored_bytes_of<double>(rounds); }
double roots_and_quotients_float(std::size_t rounds) { return roots_and_quotients_of<float>(rounds); }
double roots_and_quotients_double(std::size_t rounds) { return roots_and_quotients_of<double>(rounds); }

}  // namespace ignd::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ignd::bench {

HWY_EXPORT(multiply_adds_float);
HWY_EXPORT(multiply_adds_double);
HWY_EXPORT(stored_bytes_float);
HWY_EXPORT(stored_bytes_double);
HWY_EXPORT(roots_and_quotients_float);
HWY_EXPORT(roots_and_quotients_double);
HWY_EXPORT(read_bytes_of);
HWY_EXPORT(updated_bytes_of);

template <>
double multiply_adds<float>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(multiply_adds_float)(rounds);
}
template <>
double multiply_adds<double>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(multiply_adds_double)(rounds);
}
template <>
double stored_bytes<float>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(stored_bytes_float)(rounds);
}
template <>
double stored_bytes<double>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(stored_bytes_double)(rounds);
}
template <>
double roots_and_quotients<float>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(roots_and_quotients_float)(rounds);
}
template <>
double roots_and_quotients<double>(std::size_t rounds) {
  return HWY_DYNAMIC_DISPATCH(roots_and_quotients_double)(rounds);
}

double read_bytes(std::span<const float> array) {
  return HWY_DYNAMIC_DISPATCH(read_bytes_of)(array.data(), array.size());
}
double updated_bytes(std::span<float> array) {
  return HWY_DYNAMIC_DISPATCH(updated_bytes_of)(array.data(), array.size());
}

// A plain loop on every machine: gathering and scattering by vectors is slower where it was measured.
double changed_lines(std::span<float> table, std::span<const std::uint32_t> index, std::span<const float> x) {
  for (std::size_t k = 0; k < index.size(); ++k) table[index[k]] += x[k];
  return static_cast<double>(index.size());
}

}  // namespace ignd::bench
#endif
