#pragma once

#include "ignd/model.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace ignd {

// Computes a model's outputs, one or several, sample by sample. The model must outlive it.
class ModelOutputs {
 public:
  explicit ModelOutputs(const Model<float>& model);

  std::size_t count() const { return model_.outputs(); }

  // How many samples are best given at a time; more are refused. A sample has the same outputs alone.
  std::size_t together() const { return model_.predicted_together(); }

  // Throws BadSample unless x has the form the model reads. Allocates nothing once the largest sample was seen.
  void operator()(const Input<float>& x, std::span<double> outputs) { (*this)({&x, 1}, outputs); }
  // The same for several samples, whose outputs follow each other.
  void operator()(std::span<const Input<float>> x, std::span<double> outputs);

 private:
  const Model<float>& model_;
  std::optional<Trace<float>> trace_;    // for models that read single samples
  std::unique_ptr<Batch<float>> batch_;  // for others
};

// What the logits of classes mean. None of this overflows if a logit is large.

// The probability of the positive one of two classes.
inline double sigmoid(double logit) { return 1 / (1 + std::exp(-logit)); }

// exp(z_k) divided by the sum of them. The two may be the same numbers.
void softmax_probabilities(std::span<const double> logits, std::span<double> probabilities);

// -log of the probability of a class, with full relative precision where that is nearly 1.
double cross_entropy(std::size_t label, std::span<const double> logits);

// The class with the largest logit, the first one of several.
std::size_t most_probable(std::span<const double> logits);

}  // namespace ignd
