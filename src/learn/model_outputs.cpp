#include "learn/model_outputs.hpp"

#include <algorithm>
#include <cmath>

namespace ignd {

ModelOutputs::ModelOutputs(const Model<float>& model) : model_(model) {
  if (model.reads_single_samples()) {
    trace_.emplace(model);
  } else {
    batch_ = model.make_batch(together());
  }
}

void ModelOutputs::operator()(std::span<const Input<float>> x, std::span<double> outputs) {
  if (trace_) {
    for (std::size_t s = 0; s < x.size(); ++s) outputs[s] = model_.predict(x[s], *trace_);
    return;
  }
  for (const Input<float>& sample : x) model_.check(sample);
  std::ranges::copy(batch_->forward(x, nullptr), outputs.begin());
}

void softmax_probabilities(std::span<const double> logits, std::span<double> probabilities) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    probabilities[k] = std::exp(logits[k] - largest);
    sum += probabilities[k];
  }
  for (double& probability : probabilities) probability /= sum;
}

double cross_entropy(std::size_t label, std::span<const double> logits) {
  const std::size_t top = most_probable(logits);
  double others = 0;  // beside the largest term, which is 1
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (k != top) others += std::exp(logits[k] - logits[top]);
  }
  return (logits[top] - logits[label]) + std::log1p(others);
}

std::size_t most_probable(std::span<const double> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace ignd
