#pragma once

#include "ignd/api.hpp"
#include "ignd/gradient_check.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace ignd {

class Loss;
class StepRule;
class VectorLoss;

// Compares l_f with differences of the value and l_ff with those of l_f, for outputs near each target and far from it.
// At a kink, anything between the two sides is right. Checks besides that the loss is convex in f, and nowhere below
// its minimum(). Without targets, it takes those of -1, 0, 1, 2 and 5 that check_target() accepts; throws
// InvalidArgument if that is none.
IGND_API DerivativeReport check_loss(const Loss& loss, std::span<const double> targets = {},
                                     const DerivativeOptions& options = {});

// Looks for a loss that the Gauss-Newton rule would not minimise. Its steps divide by l_ff: a factor that is in l_f and
// in l_ff for one side of the target, or for some targets, cancels (docs/math.md, "What it settles on"). For pairs of
// targets in equal shares it compares the output where the steps come to rest with the one that the loss asks for.
//
// Returns one line that says what it found and what to do; empty for a loss without this fault, for a rule that is not
// Gauss-Newton, and where the loss cannot be asked (it throws, or is not finite). None of the library's own losses has
// the fault. Of a loss of several outputs, the first is looked at.
IGND_API std::string loss_advice(const Loss& loss, const StepRule& rule);
IGND_API std::string loss_advice(const VectorLoss& loss, const StepRule& rule, std::size_t outputs = 1);

// Sets where such advice goes and returns the handler before. A trainer asks for advice when it is constructed, and
// each text is passed on once per process. By default it goes to the standard error, since a user who does not know of
// the fault would not ask. An empty handler silences it; a handler that throws ends the construction of the trainer.
using AdviceHandler = std::function<void(const std::string& advice)>;
IGND_API AdviceHandler set_advice_handler(AdviceHandler handler);

}  // namespace ignd
