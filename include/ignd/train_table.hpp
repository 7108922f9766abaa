#pragma once

#include "ignd/api.hpp"
#include "ignd/model_file.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace ignd {

// Options by their names on the command line, without the dashes: {"epochs", "5"}, {"optimizer", "ignd"}, {"lr",
// "0.1"},
// {"seed", "2"}, {"last", "true"}. What is not given has the default of `ignd train`.
using TrainSettings = std::map<std::string, std::string>;

struct TrainReport {
  std::string status;  // "finished", "stopped early" or "diverged"
  double rate = 0;     // given, or chosen by a race
  std::uint64_t epochs = 0, kept_epoch = 0;
  std::map<std::string, double> validation, test;  // scores by name: "loss", "rmse", "accuracy", ...; empty parts: none
};

struct TrainedTable {
  ModelFile model;
  TrainReport report;
};

// Called now and then with the share of the work that is done; false ends the training with what there is.
using TrainProgress = std::function<bool(double share)>;

// Trains a model on a table (CSV, TSV or svmlight, gzip or not), as `ignd train PATH --target TARGET` does with the
// same options: the same bits. Throws InvalidArgument for options, with the nearest name of one that does not exist;
// FileError and BadSample for data; Error where training diverged before there was anything to keep.
IGND_API TrainedTable train_table(const std::string& path, const std::string& target,
                                  const TrainSettings& settings = {}, const TrainProgress& progress = {});

}  // namespace ignd
