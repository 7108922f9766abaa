#pragma once

#include "ignd/api.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// An optimizer is a step rule and a transform, by their specs.
struct IGND_API Optimizer {
  std::string rule = "gauss-newton";
  std::string transform = "plain";

  // What the parts are, however they are spelled. Throw InvalidArgument for a spec that cannot be read.
  bool has_gradient_rule() const;
  bool has_plain_transform() const;
};

// sgd, ignd, adam, adam-ignd, sps, ngd, nlms (undamped: for the squared loss), or any rule and transform:
// "gauss-newton:eps_lm=1e-3+momentum". Throws InvalidArgument, with the nearest known name.
IGND_API Optimizer find_optimizer(std::string_view text);

// A rule and a transform, their specs without spaces. Throws InvalidArgument for what does not exist.
IGND_API Optimizer make_optimizer(std::string_view rule, std::string_view transform);

IGND_API std::vector<std::string> optimizer_names();

}  // namespace ignd
