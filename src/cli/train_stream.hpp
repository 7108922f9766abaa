#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ignd::cli {

struct StreamTraining {
  std::string data = "-";
  std::string format;  // empty: by looking at it
  std::string target;  // a column, for comma-separated values
  std::optional<std::string> weight;
  std::string delimiter, header;
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
  std::string resume;
  bool json = false;
  bool quiet = false;
};

// Learns from a stream in one pass. Returns the exit code.
int train_stream(const StreamTraining& options);

}  // namespace ignd::cli
