#pragma once

#include "learn/run_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

struct TrainOptions : MethodWords {
  RunSpec spec;                    // its optimizer, rate and seed come from the words, and from here:
  std::vector<std::string> given;  // the names of the options that the user gave: "--epochs"
  std::uint64_t seed = 1;
  std::string save;  // empty: named after the data
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

// Throws InvalidArgument, with the reason, where the user gave one of the options.
void refuse_options(const TrainOptions& options, const std::vector<std::string>& refused, const std::string& why);

// Trains on a table, on images or texts, or on a stream and says how good the model is. Returns the exit code.
int train(TrainOptions options);

}  // namespace ignd::cli
