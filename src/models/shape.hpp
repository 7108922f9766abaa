#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace ignd {

// What passes between two layers for one sample.
struct Shape {
  enum class Kind {
    values,    // so many numbers
    image,     // channels x height x width, channel by channel and row by row
    sequence,  // at most so many steps of so many numbers each
    tokens     // at most so many steps, each one of so many whole numbers
  };

  Kind kind = Kind::values;
  std::array<std::size_t, 3> size{};

  static Shape values(std::size_t count) { return {Kind::values, {count, 1, 1}}; }
  static Shape image(std::size_t channels, std::size_t height, std::size_t width) {
    return {Kind::image, {channels, height, width}};
  }
  static Shape sequence(std::size_t steps, std::size_t width) { return {Kind::sequence, {steps, width, 1}}; }
  static Shape tokens(std::size_t steps, std::size_t vocabulary) { return {Kind::tokens, {steps, vocabulary, 1}}; }

  // How many numbers it is at the most; none for tokens.
  std::size_t count() const { return kind == Kind::tokens ? 0 : size[0] * size[1] * size[2]; }

  std::string text() const;  // "image 3 224 224"

  bool operator==(const Shape&) const = default;
};

}  // namespace ignd
