#include "core/importance.hpp"

#include <algorithm>

namespace ignd {

WeightedStep repeated_step(const Loss& loss, const StepRule& rule, double y, double f, StepInput in, double alpha,
                           double weight) {
  WeightedStep sum;
  for (double left = weight; left > 0; left -= 1) {
    const double share = std::min(left, 1.0);
    const double coefficient = share * rule.coefficient(in);
    sum.coefficient += coefficient;
    if (in.l2 > 0) sum.decay += share * rule.scale(in) * in.l2;
    const double moved = f - alpha * coefficient * in.s;
    if (left <= 1 || moved == f) break;  // where f no longer moves, neither does anything else
    f = moved;
    in.loss = loss.at(y, f);
  }
  return sum;
}

}  // namespace ignd
