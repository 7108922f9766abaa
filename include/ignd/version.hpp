#pragma once

namespace ignd {

const char* version();   // "0.1.0"
const char* compiler();  // what the library was compiled with
const char* cpu_path();  // the kernels in use on this machine

}  // namespace ignd
