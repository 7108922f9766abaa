#pragma once

#include "data/data_file.hpp"
#include "learn/run.hpp"
#include "learn/table_dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

struct TrainOptions {
  std::vector<std::string> given;  // the names of the options that the user gave: "--epochs"
  DataFile data;
  DatasetOptions task;
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

  std::size_t batch = 0;  // samples of a step; 0: one at a time, or what a model of several outputs needs
  std::string batch_mode = "average";
  double lambda = 1;
  bool adaptive_lambda = false;
  std::uint64_t memory = 4096;  // megabytes, for the system of exact steps

  std::optional<std::string> text;  // a column of texts; none: the data are a table, or files
  std::size_t size = 224;           // pixels that images are high and wide
  std::size_t length = 256;         // tokens of a text that are read

  bool stream = false;  // and for streams alone:
  unsigned bits = 18;
  unsigned threads = 0;
  std::string bad_rows = "stop";
  std::string predictions;
};

// Trains on a table, on images or texts, or on a stream and says how good the model is. Returns the exit code.
int train(TrainOptions options);

}  // namespace ignd::cli
