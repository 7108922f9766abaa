#pragma once

#include <cmath>
#include <cstddef>
#include <span>

// What the logits of classes mean. None of this overflows where a logit is large.
namespace ignd {

// The probability of the positive one of two classes.
inline double sigmoid(double logit) { return 1 / (1 + std::exp(-logit)); }

// exp(z_k) divided by the sum of them. The two may be the same numbers.
void softmax_probabilities(std::span<const double> logits, std::span<double> probabilities);

// -log of the probability of a class, with full relative precision where that is nearly 1.
double cross_entropy(std::size_t label, std::span<const double> logits);

// The class with the largest logit, the first one of several.
std::size_t most_probable(std::span<const double> logits);

}  // namespace ignd
