#pragma once

#include "ignd/api.hpp"
#include "ignd/loss.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// A loss of C outputs, convex in them. Immutable and shared, as losses of one output are.
class IGND_API VectorLoss {
 public:
  virtual ~VectorLoss() = default;

  // How many numbers a sample's target has for a model with that many outputs. Throws InvalidArgument if the loss does
  // not support that number.
  virtual std::size_t targets(std::size_t outputs) const = 0;

  // The value; the gradient in f goes to d1 and the Hessian, C x C and positive semidefinite, to d2 unless that is
  // empty.
  virtual double at(std::span<const double> y, std::span<const double> f, std::span<double> d1,
                    std::span<double> d2) const = 0;

  // The default eps_c, added to the Hessian's diagonal, as in Loss.
  virtual double curvature_floor() const { return 0; }

  // The infimum over f, for the Polyak rule.
  virtual double minimum(std::span<const double> /*y*/) const { return 0; }

  // As in Loss.
  virtual Link link() const { return Link::identity; }
  virtual bool is_squared_error() const { return false; }

  // Throws BadSample unless y is a valid target for that many outputs.
  virtual void check_target(std::span<const double> y, std::size_t outputs) const = 0;

  virtual std::string spec() const = 0;
};

// softmax      cross-entropy of classes 0 ... C-1 with logits; the target is the class's number
// squared      ||f - y||^2 / 2
// and every loss of one output, by the name that make_loss takes. Throws InvalidArgument for anything else.
IGND_API std::shared_ptr<const VectorLoss> make_vector_loss(std::string_view spec);

// Wraps a loss of one output as a VectorLoss.
IGND_API std::shared_ptr<const VectorLoss> as_vector_loss(std::shared_ptr<const Loss> loss);

IGND_API std::vector<std::string> vector_loss_names();

}  // namespace ignd
