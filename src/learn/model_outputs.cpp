#include "learn/model_outputs.hpp"

#include <algorithm>

namespace ignd {

ModelOutputs::ModelOutputs(const Model<float>& model) : model_(model) {
  if (model.outputs() == 1) {
    trace_.emplace(model);
  } else {
    batch_ = model.make_batch(1);
  }
}

void ModelOutputs::operator()(const Input<float>& x, std::span<double> outputs) {
  if (trace_) {
    outputs[0] = model_.predict(x, *trace_);
    return;
  }
  model_.check(x);
  std::ranges::copy(batch_->forward({&x, 1}, nullptr), outputs.begin());
}

}  // namespace ignd
