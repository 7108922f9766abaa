#pragma once

#include "train/table_run.hpp"
#include "train/table_task.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ignd::cli {

struct TrainOptions {
  std::string data;
  std::string format;  // empty: by looking at it
  std::string delimiter;
  std::string header;
  TaskOptions task;
  RunOptions run;
  std::string optimizer = "adam";  // a name, or
  std::string rule, transform;
  std::string rate = "auto";
  std::string save;
  std::uint64_t save_every = 0;
  std::string resume;
  bool json = false;
  bool quiet = false;

  bool stream = false;  // and for streams alone:
  unsigned bits = 18;
  unsigned threads = 0;
  std::string bad_rows = "stop";
  std::string predictions;
};

// Trains on a table or a stream and says how good the model is. Returns the exit code.
int train(TrainOptions options);

}  // namespace ignd::cli
