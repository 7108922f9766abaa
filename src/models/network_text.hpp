#pragma once

#include "models/layer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// A network as text: if need be the number of threads, then what a sample is and the layers, with semicolons between
// them. Each is a word, then counts in
// a fixed order, then options as key=value: "lstm 128 forget-bias=1".
namespace ignd {

template <class T>
struct NetworkLayers {
  unsigned threads = 1;
  Shape input;
  std::vector<std::unique_ptr<Layer<T>>> layers;
};

// The layers of a text, each made for what the one before it gives, the last one giving the outputs. Throws
// InvalidArgument with the layer.
template <class T>
NetworkLayers<T> parse_network(std::string_view text);

}  // namespace ignd
