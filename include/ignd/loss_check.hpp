#pragma once

#include "ignd/api.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace ignd {

class Loss;
class StepRule;
class VectorLoss;

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
