#pragma once

#include "ignd/api.hpp"
#include "ignd/frame.hpp"
#include "ignd/model_file.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// An option of `ignd train`, for programs that pass options on.
struct TrainOption {
  enum class Kind { number, count, flag, word };

  std::string name;
  Kind kind = Kind::word;
  std::string default_value = {};         // "" or "auto": by the data
  std::vector<std::string> choices = {};  // of a word; empty: any
  std::string help = {};                  // one line
  bool for_frames = true;                 // whether it means something for a table in memory
};

// The options that train() takes, in the order of the tool's help.
IGND_API std::vector<TrainOption> train_options();

// Options of `ignd train` by name, without the dashes: {"target", "price"}, {"epochs", "5"}, {"optimizer", "ignd"},
// {"lr", "0.1"}, {"seed", "2"}, {"last", "true"}. What is not given has its default there. Options of files and of
// output (save, resume, quiet, ...) and of streams are not taken.
using TrainSettings = std::map<std::string, std::string>;

struct TrainReport {
  std::string status;  // "finished", "stopped early", "diverged", or "running": `progress` ended it
  double rate = 0;     // given, or found by a search
  std::uint64_t epochs = 0, kept_epoch = 0;
  std::map<std::string, double> validation, test;  // scores by name: "loss", "rmse", "accuracy", ...; empty parts: none
  // The ends of 90 % intervals of the test scores, by the bootstrap; none where there are too few test rows.
  std::map<std::string, std::pair<double, double>> test_intervals = {};
};

struct Trained {
  ModelFile model;
  TrainReport report;
};

// Called now and then, by one thread at a time, with the share of the run that is done, which is 0 while rates are
// searched. False ends the training with what there is: an Error if that is nothing.
using TrainProgress = std::function<bool(double share)>;

// Trains a model on a table (CSV, TSV or svmlight, gzip or not), or on a folder or archive of images or texts, as
// `ignd train PATH` does with the same options: the model has the same bits. `path` may be the name of a data set that
// `ignd data list` knows. Throws InvalidArgument for options, with the nearest name of one that does not exist;
// FileError for data; Error where training diverged or was ended before there was anything to keep.
IGND_API Trained train(const std::string& path, const TrainSettings& settings, const TrainProgress& progress = {});

// The same for a table in memory: the model has the bits of one trained on a file with these cells. If
// `validation_rows` is not 0, the last rows of the table, as many, are the validation rows and all others are for
// training; the options `validation`, `test`, `split-by` and `split-time` then cannot be given.
IGND_API Trained train(const Frame& frame, const TrainSettings& settings, const TrainProgress& progress = {},
                       std::size_t validation_rows = 0);

}  // namespace ignd
