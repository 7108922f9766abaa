#include "ignd/initial_weights.hpp"

#include <cmath>

namespace ignd {
namespace {

// The standard deviation of N(0, 1) cut off at +-2: sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)).
constexpr double truncated_deviation = 0.8796256610342398;

double variance(InitialWeights kind, double inputs, double outputs) {
  switch (kind) {
    case InitialWeights::lecun:
      return 1 / inputs;
    case InitialWeights::he:
      return 2 / inputs;
    case InitialWeights::glorot:
      return 2 / (inputs + outputs);
  }
  return 0;
}

}  // namespace

template <class T>
void fill_initial(InitialWeights kind, std::size_t inputs, std::size_t outputs, RandomStream& stream,
                  std::span<T> weights) {
  const double wanted = variance(kind, static_cast<double>(inputs), static_cast<double>(outputs));
  const double deviation = std::sqrt(wanted) / truncated_deviation;
  for (T& w : weights) w = static_cast<T>(deviation * stream.truncated_normal());
}

template void fill_initial(InitialWeights, std::size_t, std::size_t, RandomStream&, std::span<float>);
template void fill_initial(InitialWeights, std::size_t, std::size_t, RandomStream&, std::span<double>);

}  // namespace ignd
