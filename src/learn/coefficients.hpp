#pragma once

#include "data/encoder.hpp"
#include "ignd/model.hpp"
#include "learn/target.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The weights of linear models as users can read them.
namespace ignd {

// What one part of a column adds to the prediction.
struct Coefficient {
  std::string column;
  std::string part;            // "per unit", "per day", "is Kiel", "is missing"
  std::vector<double> values;  // one for each output of the model
};

// A linear model in the units of its columns: prediction = intercept + the sum of all coefficients times their parts.
// It holds for numbers that the encoder does not clip.
struct LinearForm {
  std::string unit;  // of the values: "prediction", "log-odds", "log of the mean"
  // With 0 in every column of numbers, 1970-01-01 in every date and none of the known texts.
  std::vector<double> intercept;
  std::vector<Coefficient> coefficients;  // in the order of the columns
};

// None if the model is not linear in its features.
std::optional<LinearForm> linear_form(const Encoder& encoder, const Target& target, const Model<float>& model);

// The features of a stream that move its predictions most.
struct HeavyFeature {
  std::string name;
  double weight = 0;          // change of the output for one unit of the feature
  double size = 0;            // root mean square of its values where it is not zero
  std::uint64_t rows = 0;     // where it is not zero
  std::uint64_t sharing = 0;  // other features that hash to the same weight: it serves them all

  double effect() const { return weight < 0 ? -weight * size : weight * size; }
};

struct HeavyFeatures {
  std::string unit;                    // of the weights, as in LinearForm
  bool has_names = false;              // or the names are numbers: those of the data, or hashes
  std::vector<HeavyFeature> heaviest;  // by effect
  std::uint64_t features = 0;          // different ones in the rows
  std::uint64_t colliding = 0;         // of these, those that share a weight with another one
};

}  // namespace ignd
