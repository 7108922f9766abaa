#pragma once

#include "ignd/mlp.hpp"
#include "models/layer.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Turns a network as users write it, for samples of a given shape, into a spec for make_model:
//   cnn:32,64,128/128,64   convolutions of 3 x 3 with these channels, each rectified and pooled by 2 x 2, then dense
//                          layers of these widths, rectified
//   lstm:128x128           an embedding of this width and an LSTM of this many units, whose last state is read
//   network:LAYERS         any layers, as in docs/networks.md, without the input; in front of them may be "threads 2; "
// The first two get a unit at the end for each output; layers have their own. Throws InvalidArgument, also where a
// network cannot take such samples.
std::string named_network(std::string_view text, const Shape& input, std::size_t outputs = 1);

// Whether a text starts with one of these names.
bool is_network_name(std::string_view text);

// "linear", "mlp:32,64,32" or "network:dense 32; tanh; dense 1" for these numbers of inputs and outputs, as make_model
// wants it. Throws InvalidArgument.
std::string model_spec(const std::string& text, std::size_t features, std::size_t outputs = 1);

std::vector<std::string> activation_names();
std::string activation_name(Activation activation);

}  // namespace ignd
