#pragma once

#include "learn/run_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

// An option as the user gave it: "--epochs" and "3".
struct GivenOption {
  std::string name, value;
  bool is_flag = false;  // and has no value
};

struct CompareOptions {
  std::vector<GivenOption> given;
  RunSpec spec;  // what is compared comes from here:
  std::string optimizers = "sgd,ignd,adam,adam-ignd";
  std::string rates = "1e-6:1:2";
  std::uint64_t seeds = 5;
  std::string budget;      // empty: as long as it takes
  std::uint64_t jobs = 0;  // 0: as many as the machine has cores
  std::string out;         // empty: named after the data
};

// Trains with every optimizer at every rate and seed, as far as that is not done yet, and says which to take. Returns
// the exit code.
int compare(CompareOptions options);

}  // namespace ignd::cli
