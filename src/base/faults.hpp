#pragma once

#include "ignd/error.hpp"

#include <string>
#include <vector>

namespace ignd {

// Returns the result of `make`. If it throws InvalidArgument, returns a default value and adds the message to `faults`,
// so that one message can report all faults.
template <class Make>
auto collect_fault(std::vector<std::string>& faults, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const InvalidArgument& fault) {
    faults.emplace_back(fault.what());
    return {};
  }
}

// Passes advice to the handler (ignd/loss_check.hpp), each text once. Ignores an empty text.
void give_advice(const std::string& advice);

}  // namespace ignd
