#pragma once

#include "ignd/error.hpp"

#include <string>
#include <vector>

namespace ignd {

// What `make` gives, or nothing and what it complains about, so that all faults of some options come in one message.
template <class Make>
auto collect_fault(std::vector<std::string>& faults, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const InvalidArgument& fault) {
    faults.emplace_back(fault.what());
    return {};
  }
}

// Passes advice on to the handler (ignd/loss_check.hpp), each text once; nothing if it is empty.
void give_advice(const std::string& advice);

}  // namespace ignd
