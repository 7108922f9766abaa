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

// sgd, ignd, adam, adam-ignd, sps, ngd, nlms (undamped: for the squared loss). Throws InvalidArgument for other names;
// any other pair is allowed by naming both parts.
IGND_API Optimizer find_optimizer(std::string_view name);

IGND_API std::vector<std::string> optimizer_names();

}  // namespace ignd
