#pragma once

#include "cli/data_file.hpp"
#include "train/table_run.hpp"
#include "train/table_task.hpp"

#include <cstdint>
#include <string>

namespace ignd::cli {

struct TrainOptions {
  DataFile data;
  TaskOptions task;
  RunOptions run;                  // its optimizer, rate and seed come from here:
  std::string optimizer = "adam";  // a name, or
  std::string rule, transform;     // a pair
  std::string rate = "auto";
  std::string save;  // empty: a name that is free
  std::uint64_t save_every = 0;
  std::string resume;
  bool json = false;
  bool quiet = false;
};

// Trains on a table and says how good the model is. Returns the exit code.
int train(TrainOptions options);

}  // namespace ignd::cli
