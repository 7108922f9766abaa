#include "learn/run_result.hpp"

namespace ignd {

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::finished:
      return "finished";
    case RunStatus::stopped_early:
      return "stopped early";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::collapsed:
      return "collapsed";
  }
  return "unknown";
}

std::optional<RunStatus> parse_run_status(const std::string& text) {
  for (const RunStatus known :
       {RunStatus::running, RunStatus::finished, RunStatus::stopped_early, RunStatus::diverged, RunStatus::collapsed}) {
    if (text == to_string(known)) return known;
  }
  return std::nullopt;
}

}  // namespace ignd
