#pragma once

#include "models/layer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// A network as text: optionally the number of threads, then what a sample is, then the layers, separated by semicolons.
// Each item is a word, then counts in a fixed order, then options as key=value: "lstm 128 forget-bias=1".
namespace ignd {

template <class T>
struct NetworkLayers {
  unsigned threads = 1;
  Shape input;
  std::vector<std::unique_ptr<Layer<T>>> layers;
};

// Parses a text. Each layer is made for the output of the one before it, and the last one gives the outputs. Throws
// InvalidArgument with the layer.
template <class T>
NetworkLayers<T> parse_network(std::string_view text);

}  // namespace ignd
