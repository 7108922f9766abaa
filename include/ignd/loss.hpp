#pragma once

#include "ignd/api.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// A loss and its first two derivatives in the output f, computed together so that they cannot disagree.
struct LossAt {
  double value = 0;  // l
  double d1 = 0;     // l_f
  double d2 = 0;     // l_ff
};

// What an output f means: the predicted number itself, its logarithm, the log-odds of one class of two, or one of the
// logits of several classes.
enum class Link { identity, log, logit, softmax };

// l(y, f): convex in the scalar output f for every target y. Losses are immutable and shared between trainers.
class IGND_API Loss {
 public:
  virtual ~Loss() = default;

  virtual LossAt at(double y, double f) const = 0;

  // The infimum of l(y, .): the Polyak rule steps by the excess over it.
  virtual double minimum(double /*y*/) const { return 0; }

  // The default eps_c, a curvature added to l_ff. The losses below choose it so that one outlier at rate 1 cannot
  // throw a linear prediction past its target. It does not depend on the target: that would weigh the samples of one
  // input differently and shift what the model settles on (docs/math.md, "What it settles on").
  virtual double curvature_floor() const { return 0; }

  // What f means, for turning it into a prediction. Trainers do not use it.
  virtual Link link() const { return Link::identity; }

  // Whether it is (f - y)^2 / 2: its root mean is then an error in the target's units.
  virtual bool is_squared_error() const { return false; }

  // Throws BadSample unless y is a target of this loss.
  virtual void check_target(double y) const;

  // The text that names this loss in a checkpoint, such as "huber:delta=1".
  virtual std::string spec() const = 0;
};

// From a name with optional parameters:
//   squared                 (f - y)^2 / 2
//   logistic                binary cross-entropy with logits, y in {0, 1}
//   poisson:largest=1000    exp(f) - y f, the log link, less its minimum (half the deviance); y >= 0. No count up to
//                           `largest` can throw a prediction past its target; where counts are small, a smaller
//                           number learns faster
//   huber:delta=1           quadratic near the target, linear beyond delta
//   log-cosh                log(cosh(f - y))
//   pinball:tau=0.5         the tau-quantile
// Throws InvalidArgument for anything else.
IGND_API std::shared_ptr<const Loss> make_loss(std::string_view spec);

IGND_API std::vector<std::string> loss_names();

}  // namespace ignd
