#pragma once

#include "ignd/random.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// The paper's networks for images and texts, and samples to measure their speed with.
namespace ignd::bench {

inline constexpr const char* cnn_text =
    "image 3 224 224; convolution 32; relu; max-pool; convolution 64; relu; max-pool; convolution 128; relu; max-pool; "
    "flatten; dense 128; relu; dense 64; relu; dense 1";
inline constexpr const char* lstm_text = "tokens 256 100277; embedding 128; lstm 128; last; dense 1";

// So small that all rectifiers stay as they are, whatever the optimizer: a unit that dies costs nothing.
inline constexpr double resting_rate = 1e-6;

inline std::vector<float> random_image(RandomStream& stream) {
  std::vector<float> image(std::size_t{3} * 224 * 224);
  for (float& value : image) value = static_cast<float>(stream.normal());
  return image;
}

// Few frequent and many rare ones, as in a language: a token's frequency falls with its number.
inline std::vector<std::uint32_t> random_text(RandomStream& stream) {
  constexpr double vocabulary = 100277;
  std::vector<std::uint32_t> tokens(256);
  for (std::uint32_t& token : tokens) {
    token = static_cast<std::uint32_t>(std::pow(vocabulary, stream.uniform())) - 1;
  }
  return tokens;
}

}  // namespace ignd::bench
