#include "base/text.hpp"
#include "lab/task.hpp"

#include <fmt/format.h>

namespace ignd {

std::string RunConfig::text() const {
  std::string lines = fmt::format("task={}\nrule={}\ntransform={}\nrate={}\nseed={}\n", task, optimizer.rule,
                                  optimizer.transform, format_number(rate), seed);
  for (const auto& [name, value] : settings.values()) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

}  // namespace ignd
