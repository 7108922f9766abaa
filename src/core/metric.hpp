#pragma once

#include "ignd/aligned.hpp"
#include "ignd/model.hpp"
#include "ignd/sensitivity.hpp"

#include <cstdint>
#include <vector>

namespace ignd {

class Checkpoint;

// The diagonal metric P_i = 1 / (mean square of input i), over the samples in which the input was not zero, on the
// weights that multiply input i; 1 on all others. Multiplying an input by a constant then changes no prediction.
template <class T>
class Metric {
 public:
  // For the model whose trace this is: the blocks marked on_input say which weights it covers.
  Metric(const Sensitivity<T>& j, std::span<const RowTable> tables);

  // Takes the sample's inputs into account and returns P j, valid until the next call.
  const Sensitivity<T>& direction(const Sensitivity<T>& j);

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  void scale(std::span<const T> inputs, std::span<const std::uint32_t> index);

  std::vector<double> mean_square_;  // of each input, where it was not zero
  std::vector<std::uint64_t> seen_;  // how often that was
  AlignedVector<T> scaled_;          // P u of the current sample
  Sensitivity<T> direction_;
};

}  // namespace ignd
