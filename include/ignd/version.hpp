#pragma once

#include "ignd/api.hpp"

namespace ignd {

IGND_API const char* version();   // "0.1.0"
IGND_API const char* compiler();  // what the library was compiled with
IGND_API const char* cpu_path();  // the kernels in use on this machine

}  // namespace ignd
