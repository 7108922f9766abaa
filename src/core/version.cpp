#include "ignd/version.hpp"

#include "kernels/kernels.hpp"

namespace ignd {

const char* version() { return IGND_VERSION; }

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

const char* cpu_path() { return kernels::table<float>().name; }

}  // namespace ignd
