#pragma once

#include <stdexcept>

namespace ignd {

// Thrown by work that was asked to stop, by a stop flag that is set. Nothing is wrong.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

}  // namespace ignd
