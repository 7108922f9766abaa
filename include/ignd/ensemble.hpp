#pragma once

#include "ignd/api.hpp"
#include "ignd/mlp.hpp"
#include "ignd/model.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

struct EnsembleOptions {
  std::size_t members = 1;
  bool linear = false;  // a linear model of the inputs is added as well
  MlpOptions network = {};
};

// The sum of networks of equal widths that read the same inputs and, if asked for, of a linear model: f(x) = f_1(x) +
// ... + f_K(x) + a^T x + b. A blend of trained networks is such a sum, each with its share multiplied into its last
// layer; see blend(). The parameters are those of the networks, one after the other, then those of the linear model.
//
// Only batches read and train it.
template <class T>
class IGND_API Ensemble final : public Model<T> {
 public:
  // widths = {inputs, hidden...}, as for Mlp. The networks start at different weights, the linear model at zero.
  explicit Ensemble(std::vector<std::size_t> widths, EnsembleOptions options = {});

  std::string spec() const override;
  std::unique_ptr<Model<T>> clone() const override { return std::make_unique<Ensemble>(*this); }
  std::size_t outputs() const override { return options_.network.outputs; }
  bool reads_single_samples() const override { return false; }
  std::size_t predicted_together() const override { return together; }
  std::unique_ptr<Batch<T>> make_batch(std::size_t size) const override;
  void check(const Input<T>& x) const override;
  void prepare(Trace<T>& trace) const override;
  double forward(const Input<T>& x, Trace<T>& trace) const override;
  void sensitivity(const Input<T>& x, Trace<T>& trace) const override;

  std::size_t members() const { return options_.members; }

 private:
  static constexpr std::size_t together = 128;  // samples: the networks' products then run at full speed

  std::vector<std::size_t> widths_;
  EnsembleOptions options_;
};

// The sum of shares[k] times networks[k], and of linear_share times a linear model, if there is one (a Linear, or for
// several outputs an Mlp without hidden layers). Throws InvalidArgument unless the networks are of the class Mlp, have
// the same widths, and read and give what the linear model does.
template <class T>
IGND_API std::unique_ptr<Model<T>> blend(std::span<const std::unique_ptr<Model<T>>> networks,
                                         std::span<const double> shares, const Model<T>* linear = nullptr,
                                         double linear_share = 0);

}  // namespace ignd
