#pragma once

#include "ignd/api.hpp"
#include "ignd/initial_weights.hpp"
#include "ignd/model.hpp"

#include <vector>

namespace ignd {

enum class Activation { relu, tanh, identity };

struct MlpOptions {
  Activation activation = Activation::relu;
  InitialWeights initial = InitialWeights::lecun;
  std::uint64_t seed = 0;
  std::size_t outputs = 1;
};

// A feedforward network with a linear output unit, or several: widths = {inputs, hidden...}. Each layer is one matrix
// stored by input unit with the bias as its last row, so that an inactive unit costs nothing in either direction and
// the whole layer is one block. Biases start at zero.
template <class T>
class IGND_API Mlp final : public Model<T> {
 public:
  explicit Mlp(std::vector<std::size_t> widths, MlpOptions options = {});

  const std::vector<std::size_t>& widths() const { return widths_; }
  Activation activation() const { return activation_; }

  std::string spec() const override;
  std::unique_ptr<Model<T>> clone() const override { return std::make_unique<Mlp>(*this); }
  std::size_t outputs() const override { return layers_.back().columns; }
  std::unique_ptr<Batch<T>> make_batch(std::size_t size) const override;
  void check(const Input<T>& x) const override;
  void prepare(Trace<T>& trace) const override;
  std::vector<RowTable> row_tables() const override;
  double forward(const Input<T>& x, Trace<T>& trace) const override;
  void sensitivity(const Input<T>& x, Trace<T>& trace) const override;

 private:
  // Where a layer stands: its weights in the parameters, its inputs (with a trailing 1) and the derivatives of f with
  // respect to its units in the trace.
  struct Layer {
    std::size_t rows;  // inputs + 1
    std::size_t columns;
    std::size_t weights;
    std::size_t inputs;
    std::size_t deltas;
    std::size_t active;  // its active inputs in the trace's index
  };

  void activate(std::size_t l, Trace<T>& trace) const;
  std::span<const std::uint32_t> active(std::size_t l, const Trace<T>& trace, bool with_bias) const;

  std::vector<std::size_t> widths_;
  Activation activation_;
  std::vector<Layer> layers_;
  std::size_t scratch_size_ = 0;
  std::size_t index_size_ = 0;
};

}  // namespace ignd
