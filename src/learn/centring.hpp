#pragma once

#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ignd {

class Checkpoint;

// The number of first examples that determine which features are dense, and the offset of the target.
inline constexpr std::uint64_t first_look = 10;

// Scratch buffers for a centred example, reused for the next one.
struct CentringScratch {
  Input<float> ordered;  // the example not yet centred: each weight once, in increasing order
  std::vector<std::uint64_t> order;
  std::vector<std::uint32_t> ordered_index, index;
  std::vector<float> ordered_value, value;
};

// Subtracts its running mean from every dense feature, one that most examples have: large means would leave a linear
// model badly conditioned. The first few examples show which features are dense; one that turns out to be rarer is no
// longer centred. An absent feature counts as zero. When a mean moves, the bias moves with it, so that no prediction
// changes.
class Centring {
 public:
  // For a model of `weights` weights, a power of two, followed by a bias; or of as many for each of several outputs.
  explicit Centring(std::size_t weights) : weights_(weights) {}

  // The example less the means; x itself if there is nothing to subtract.
  Input<float> centred(const Input<float>& x, CentringScratch& scratch) const;

  // Updates the means by the example that was just centred. Returns false, and changes nothing, if a bias would not be
  // finite. The weights of several outputs lie side by side, those of the bias at the end.
  bool observe(const CentringScratch& example, std::span<float> weights, std::size_t outputs = 1);

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  struct Feature {
    std::uint32_t index = 0;
    double mean = 0;  // as if a zero had come first: one example alone says little
    std::uint64_t seen = 0;
  };

  bool is_looking() const { return examples_ < first_look; }
  bool is_idle() const { return !is_looking() && features_.empty(); }
  bool is_dense(const Feature& feature) const { return 2 * feature.seen >= examples_; }
  Input<float> in_order(const Input<float>& x, CentringScratch& scratch) const;
  void add_candidates(const Input<float>& x);
  void move_means(const Input<float>& x);

  std::size_t weights_;
  std::vector<Feature> features_;  // by index; during the first examples also those not dense so far
  std::vector<Feature> moved_;     // the same after the example at hand
  std::vector<double> shift_;      // of each output's bias, and then the biases
  std::uint64_t examples_ = 0;
};

}  // namespace ignd
