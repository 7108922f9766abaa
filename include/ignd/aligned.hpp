#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace ignd {

// One cache line, and the widest vector register.
inline constexpr std::size_t alignment = 64;

// Rounds a number of bytes up to whole cache lines, so that what follows starts on one.
constexpr std::size_t round_up_to_cache_line(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignment})); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete (p, std::align_val_t{alignment}); }
  bool operator==(const AlignedAllocator&) const = default;
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace ignd
