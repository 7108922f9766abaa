#pragma once

#include <string>

namespace ignd {

// The processor and the kernels in use: "AMD EPYC, AVX3 kernels".
std::string describe_host();

}  // namespace ignd
