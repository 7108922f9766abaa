#include "core/importance.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

void refuse_weight(double weight) {
  throw BadSample(fmt::format("the sample's weight is {}, but must be between 0 and {}", weight, largest_weight));
}

WeightedStep repeated_step(const Loss& loss, const StepRule& rule, double y, double f, const StepInput& first,
                           double alpha, double weight, RunningMean* usual) {
  StepInput in = first;
  const auto observe = [&](double count) {
    if (usual != nullptr) in.usual_curvature = usual->add(rule.curvature(in), count);
  };
  if (weight == 1) {
    observe(1);
    return {rule.coefficient(in), in.l2 > 0 ? rule.scale(in) * in.l2 : 0};
  }
  WeightedStep sum;
  double kept = 1;  // of the weights, after the l2 part of all repetitions
  for (double left = weight; left > 0; left -= 1) {
    const double share = std::min(left, 1.0);
    observe(share);
    const double coefficient = share * rule.coefficient(in);
    const double shrink = in.l2 > 0 ? alpha * rule.scale(in) * in.l2 : 0;
    sum.coefficient += coefficient;
    kept *= 1 - share * shrink;
    const double moved = f - alpha * coefficient * in.s;
    if (left <= 1) break;
    if (moved == f) {  // from here on only the shrinking continues
      observe(left - 1);
      kept *= std::pow(1 - shrink, left - 1);
      break;
    }
    f = moved;
    in.loss = loss.at(y, f);
  }
  if (alpha > 0) sum.decay = (1 - kept) / alpha;
  return sum;
}

}  // namespace ignd
