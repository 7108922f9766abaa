#pragma once

#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ignd {

class Checkpoint;

// How many examples a stream is looked at before anything is concluded from it.
inline constexpr std::uint64_t first_look = 10;

// The arrays of an example that has to be written anew, used again for the next one.
struct CentringScratch {
  Input<float> ordered;  // the example not yet centred: each weight once, in increasing order
  std::vector<std::uint64_t> order;
  std::vector<std::uint32_t> ordered_index, index;
  std::vector<float> ordered_value, value;
};

// Subtracts its running mean from every feature that most examples have: large means would leave a linear model
// badly conditioned. They are looked for in the first few examples; one that turns out to be rarer is given up. An
// absent feature counts as zero. Where a mean moves, the bias moves with it: no prediction changes.
class Centring {
 public:
  // For a model of so many weights, a power of two, and a bias behind them.
  explicit Centring(std::size_t weights) : weights_(weights) {}

  // The example less the means. It is x itself where there is nothing to subtract.
  Input<float> centred(const Input<float>& x, CentringScratch& scratch) const;

  // Takes the example that was just centred into the means. False, and nothing has changed, if the bias would not be
  // finite.
  bool observe(const CentringScratch& example, std::span<float> weights);

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  struct Feature {
    std::uint32_t index = 0;
    double mean = 0;  // as if a zero had come first: one example alone does not say much
    std::uint64_t seen = 0;
  };

  bool is_looking() const { return examples_ < first_look; }
  bool is_idle() const { return !is_looking() && features_.empty(); }
  bool is_dense(const Feature& feature) const { return 2 * feature.seen >= examples_; }
  Input<float> in_order(const Input<float>& x, CentringScratch& scratch) const;
  void add_candidates(const Input<float>& x);
  void move_means(const Input<float>& x);

  std::size_t weights_;
  std::vector<Feature> features_;  // by index; while looking, also those not dense so far
  std::vector<Feature> moved_;     // what they are about to become
  std::uint64_t examples_ = 0;
};

}  // namespace ignd
