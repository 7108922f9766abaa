#include "learn/run_result.hpp"

#include "base/text.hpp"

namespace ignd {
namespace {

constexpr EnumName<RunStatus> status_names[]{{RunStatus::running, "running"},
                                             {RunStatus::finished, "finished"},
                                             {RunStatus::stopped_early, "stopped early"},
                                             {RunStatus::diverged, "diverged"},
                                             {RunStatus::collapsed, "collapsed"}};

}  // namespace

const char* to_string(RunStatus status) { return name_in(status_names, status); }

std::optional<RunStatus> parse_run_status(const std::string& text) { return value_in(status_names, text); }

}  // namespace ignd
