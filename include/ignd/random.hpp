#pragma once

#include "ignd/api.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ignd {

// A named stream of random numbers: counter-based (Philox 4x32-10), so that streams with different names or seeds are
// independent and a stream's whole state is two numbers.
class IGND_API RandomStream {
 public:
  struct State {
    std::uint64_t key = 0;
    std::uint64_t position = 0;  // 32-bit words drawn so far
    bool operator==(const State&) const = default;
  };

  RandomStream(std::uint64_t seed, std::string_view name);
  explicit RandomStream(State state);

  State state() const { return state_; }

  std::uint32_t bits32();
  double uniform();                              // [0, 1)
  double uniform(double low, double high);       // [low, high)
  std::uint64_t below(std::uint64_t bound);      // 0 ... bound - 1, without bias; bound > 0
  double normal();                               // N(0, 1)
  double truncated_normal();                     // N(0, 1) given that it lies in [-2, 2]
  void shuffle(std::span<std::uint32_t> items);  // in place, every order equally likely

 private:
  State state_;
  std::array<std::uint32_t, 4> block_{};  // the words at the current position, derived from state_
  void fill_block();
};

}  // namespace ignd
