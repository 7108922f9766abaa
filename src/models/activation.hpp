#pragma once

#include "ignd/error.hpp"
#include "ignd/mlp.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ignd {

inline std::vector<std::string> activation_names() { return {"relu", "tanh", "identity"}; }

inline std::string activation_name(Activation activation) {
  return activation_names().at(static_cast<std::size_t>(activation));
}

}  // namespace ignd
