#pragma once

#include "data/data_file.hpp"
#include "train/table_task.hpp"
#include "train/training_run.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

struct TrainOptions {
  std::vector<std::string> given;  // the names of the options that the user gave: "--epochs"
  DataFile data;
  TaskOptions task;
  RunOptions run;               // its optimizer, schedule, rate and seed come from here:
  std::string optimizer;        // a name, or
  std::string rule, transform;  // a pair
  std::string schedule;         // these empty: what the table or the stream has as its own
  std::string rate = "auto";
  std::string save;  // empty: a name that is free
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
