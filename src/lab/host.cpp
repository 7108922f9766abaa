#include "lab/host.hpp"

#include "ignd/version.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace ignd {

std::string describe_host() {
  std::ifstream info("/proc/cpuinfo");
  std::string processor = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.find(": ") + 2, line.size()));
    break;
  }
  return fmt::format("{}, {} kernels", processor, cpu_path());
}

}  // namespace ignd
