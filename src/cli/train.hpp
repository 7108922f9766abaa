#pragma once

#include "learn/run_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

struct TrainOptions {
  RunSpec spec;                    // its optimizer, rate and seed come from here:
  std::vector<std::string> given;  // the names of the options that the user gave: "--epochs"
  std::string optimizer;           // a name, or
  std::string rule, transform;     // a pair
  std::string rate = "auto";
  std::uint64_t seed = 1;
  std::string save;  // empty: a name that is free
  std::uint64_t save_every = 0;
  std::string resume;
  bool json = false;
  bool quiet = false;

  bool stream = false;  // and for streams alone:
  unsigned bits = 18;
  unsigned threads = 0;
  std::string predictions;
};

bool is_given(const TrainOptions& options, const std::string& name);

// Trains on a table, on images or texts, or on a stream and says how good the model is. Returns the exit code.
int train(TrainOptions options);

}  // namespace ignd::cli
