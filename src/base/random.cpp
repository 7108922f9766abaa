#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <Random123/philox.h>
#include <xxhash.h>

namespace ignd {

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : RandomStream(State{XXH3_64bits_withSeed(name.data(), name.size(), seed), 0}) {}

RandomStream::RandomStream(State state) : state_(state) { fill_block(); }

void RandomStream::fill_block() {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const std::uint64_t counter = state_.position / 4;
  const auto words = r123::Philox4x32{}({{low(counter), high(counter), 0, 0}}, {{low(state_.key), high(state_.key)}});
  for (std::size_t i = 0; i < 4; ++i) block_[i] = words[i];
}

std::uint32_t RandomStream::bits32() {
  const std::uint32_t word = block_[state_.position % 4];
  if (++state_.position % 4 == 0) fill_block();
  return word;
}

double RandomStream::uniform() {
  const std::uint64_t high = bits32();
  const std::uint64_t bits = (high << 32 | bits32()) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

double RandomStream::uniform(double low, double high) {
  // Rounding may reach the upper end, which is excluded.
  return std::min(low + (high - low) * uniform(), std::nextafter(high, low));
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  while (true) {
    const std::uint64_t high = bits32();
    const std::uint64_t bits = high << 32 | bits32();
    // Draw again in the last, incomplete run of `bound` numbers. Most draws are far from it and need no division to
    // tell.
    if (bits <= UINT64_MAX - bound || bits < UINT64_MAX - UINT64_MAX % bound) return bits % bound;
  }
}

double RandomStream::normal() {
  // Uses only the first number of Box-Muller, so that the position is the whole state.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double RandomStream::truncated_normal() {
  while (true) {
    const double z = normal();
    if (std::abs(z) <= 2) return z;
  }
}

void RandomStream::shuffle(std::span<std::uint32_t> items) {
  for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[below(n)]);
}

}  // namespace ignd
