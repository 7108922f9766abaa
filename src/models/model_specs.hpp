#pragma once

#include "ignd/mlp.hpp"
#include "models/layer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Turns a network as users write it, for samples of a given shape, into a spec for make_model:
//   cnn:32,64,128/128,64   convolutions of 3 x 3 with these channels, each rectified and pooled by 2 x 2, then dense
//                          layers of these widths, rectified
//   lstm:128x128           an embedding of this width and an LSTM of this many units, whose last state is read
//   network:LAYERS         any layers, as in docs/networks.md, without the input; in front of them may be "threads 2; "
// Throws InvalidArgument, also where a network cannot take such samples.
std::string named_network(std::string_view text, const Shape& input);

// Whether a text starts with one of these names.
bool is_network_name(std::string_view text);

std::vector<std::string> activation_names();
std::string activation_name(Activation activation);

}  // namespace ignd
