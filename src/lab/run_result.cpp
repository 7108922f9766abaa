#include "lab/run_result.hpp"

namespace ignd {

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::finished:
      return "finished";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::collapsed:
      return "collapsed";
  }
  return "unknown";
}

}  // namespace ignd
