#pragma once

#include "data/data_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

struct StreamTraining {
  std::vector<std::string> given;  // the names of the options that the user gave
  DataFile data;
  std::string target, weight;  // columns, of comma-separated values
  std::string loss;
  std::string rule, transform;
  std::string rate;  // empty or "auto": the learner's own
  std::string schedule;
  double l2 = 0;
  unsigned bits = 18;
  unsigned threads = 0;  // 0: as many as are useful
  bool skip_bad_rows = false;
  std::string predictions;
  std::string save;
  std::uint64_t save_every = 0;  // examples; 0: at the end alone
  std::string resume;
  bool json = false;
  bool quiet = false;
};

// Learns from a stream in one pass. Returns the exit code.
int train_stream(const StreamTraining& options);

}  // namespace ignd::cli
