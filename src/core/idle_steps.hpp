#pragma once

#include <vector>

namespace ignd {

// What several steps with g = 0 add up to, the same for all weights. Made once and used for many rows.
template <class T>
struct IdleSteps {
  std::vector<T> factor, root;  // of adam, see kernels
  T series[3] = {};
  T limit = 0;
  bool complete = false;    // the terms were cut off before their end: more steps would add nothing
  bool stationary = false;  // as many steps at any later time add up to the same
  T eps = 0;
  T keep = 1;            // w is multiplied by this,
  T from_state = 0;      // loses this times the first state array,
  T shrink[2] = {1, 1};  // and the state arrays are multiplied by these
};

}  // namespace ignd
