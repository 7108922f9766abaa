#pragma once

#include "ignd/api.hpp"
#include "ignd/random.hpp"

#include <span>

namespace ignd {

// Normal weights cut off at two standard deviations; the deviation is corrected for the cut, so that the variance is
// 1/in (LeCun), 2/in (He) or 2/(in + out) (Glorot).
enum class InitialWeights { lecun, he, glorot };

template <class T>
IGND_API void fill_initial(InitialWeights kind, std::size_t inputs, std::size_t outputs, RandomStream& stream,
                           std::span<T> weights);

}  // namespace ignd
