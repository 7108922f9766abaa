#include "lab/tabular_protocol.hpp"

#include "ignd/random.hpp"
#include "learn/split.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ignd {
namespace {

constexpr double held_out = 0.1;  // of the rows, for each of validation and test

// x -> (x - shift) * factor, for each feature.
struct Standardisation {
  std::vector<double> shift, factor;
};

Standardisation fit(const FeatureTable& data, std::span<const std::uint32_t> rows) {
  const std::size_t features = data.names.size();
  Standardisation fitted{std::vector<double>(features, 0), std::vector<double>(features, 1)};
  const auto count = static_cast<double>(rows.size());
  for (std::size_t k = 0; k < data.numbers; ++k) {
    double sum = 0;
    for (const std::uint32_t row : rows) sum += data[row][k];
    fitted.shift[k] = sum / count;
    double squares = 0;
    for (const std::uint32_t row : rows) squares += std::pow(data[row][k] - fitted.shift[k], 2);
    if (squares > 0) fitted.factor[k] = 1 / std::sqrt(squares / count);
  }
  return fitted;
}

void scale(Standardisation& fitted, InputScales scales) {
  RandomStream stream(0, "input scales");
  for (double& factor : fitted.factor) {
    if (scales == InputScales::hundred) factor *= 100;
    if (scales == InputScales::separate) factor *= std::pow(10, stream.uniform(-2, 2));
  }
}

Samples<float> pack(const FeatureTable& data, std::span<const std::uint32_t> rows, const Standardisation& fitted) {
  Samples<float> packed(data.names.size());
  std::vector<float> values(data.names.size());
  for (const std::uint32_t row : rows) {
    const auto x = data[row];
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>((x[k] - fitted.shift[k]) * fitted.factor[k]);
    }
    packed.add(values, data.targets[row]);
  }
  return packed;
}

}  // namespace

TabularSplit split_and_standardise(const FeatureTable& data, std::uint64_t seed, InputScales scales) {
  const Split split = split_randomly(data.size(), {held_out, held_out}, seed);
  Standardisation fitted = fit(data, split.train);
  scale(fitted, scales);
  return {pack(data, split.train, fitted), pack(data, split.validation, fitted), pack(data, split.test, fitted)};
}

}  // namespace ignd
