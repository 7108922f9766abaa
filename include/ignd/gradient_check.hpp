#pragma once

#include "ignd/api.hpp"
#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ignd {

// Checks for models of your own (losses: ignd/loss_check.hpp): do the derivatives belong to the function? Meant for
// tests and for a first try: each parameter costs two predictions per sample.

struct DerivativeReport {
  bool ok = true;
  double largest_error = 0;  // of all comparisons, relative to the numbers compared
  std::string where;         // of that error or of the fault: "parameter 3 of sample 0"; empty if all agree exactly
  std::string text;          // one line: what was compared, and what is wrong
};

struct DerivativeOptions {
  double tolerance = 0;                // of relative errors; 0: 1e-5, and 5e-3 for models of floats
  std::size_t samples = 10;            // inputs of a model, or outputs for each target of a loss, that are drawn
  std::size_t most_parameters = 1000;  // of a larger model, at most this many are drawn
  bool curvature_is_bound = false;     // l_ff may be larger than the second derivative (docs/extending.md)
  std::uint64_t seed = 1;
};

// Compares sensitivity() with central differences of predict(), at the model's present weights: give it weights for
// which no term vanishes. At a kink, such as a ReLU's, any slope between those of the two sides is right. Checks
// besides
//   - ||j||^2 of the blocks and of the trace against j written out, and that blocks lie within the parameters;
//   - that traces are independent of each other and of what they were used for before;
//   - that a clone has the same spec and weights, and that changing it leaves the original alone;
//   - that rows of tables are announced (RowReader) as the blocks list them;
//   - that batches give the same outputs and sensitivities. Models of several outputs are checked by batches alone.
// Returns the first fault. Throws BadSample where the model refuses an input, InvalidArgument where there is none.
template <class T>
IGND_API DerivativeReport check_model(const Model<T>& model, std::span<const Input<T>> inputs,
                                      const DerivativeOptions& options = {});

// The same at inputs of `features` dense values, drawn from a normal distribution.
template <class T>
IGND_API DerivativeReport check_model(const Model<T>& model, std::size_t features,
                                      const DerivativeOptions& options = {});

}  // namespace ignd
