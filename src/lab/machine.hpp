#pragma once

#include "ignd/optimizer.hpp"
#include "models/layer.hpp"

#include <string>

namespace ignd {

// The processor and the kernels in use: "AMD EPYC, AVX3 kernels".
std::string describe_host();

// Seconds that a training step and a prediction take on this machine.
struct StepCost {
  double step = 0, prediction = 0;
};

// Of a model, as make_model takes it, on random samples of this shape. Takes about a second, and only once for each
// model and optimizer.
StepCost measured_cost(const std::string& model, const Shape& input, const Optimizer& optimizer);

}  // namespace ignd
