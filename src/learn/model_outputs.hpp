#pragma once

#include "ignd/model.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace ignd {

// The outputs of a model of one or several, sample by sample. The model must outlive it.
class ModelOutputs {
 public:
  explicit ModelOutputs(const Model<float>& model);

  std::size_t count() const { return model_.outputs(); }

  // Throws BadSample unless x has the form the model reads. Allocates nothing once the largest sample was seen.
  void operator()(const Input<float>& x, std::span<double> outputs);

 private:
  const Model<float>& model_;
  std::optional<Trace<float>> trace_;    // of one output
  std::unique_ptr<Batch<float>> batch_;  // of several
};

}  // namespace ignd
