#pragma once

#include "learn/dataset.hpp"
#include "learn/run_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

class Checkpoint;

// What a model file says of how its model was made and how good it is. A pure function of the run: no date, no machine
// and no folder is in it, so that equal runs leave equal files.
struct ModelFacts {
  struct Scored {
    std::string part = {};       // "validation" or "test"
    std::string predictor = {};  // "model", or a baseline: "least squares"
    // By the names of `ignd train --json`; those that are not finite are missing.
    std::vector<std::pair<std::string, double>> scores = {};
  };

  std::string version = {};       // of ignd
  std::string command = {};       // that makes it again
  std::string data = {};          // what they are called, without their folder
  std::string sha256 = {};        // of the file, as `sha256sum` prints it; empty if the data are no regular file
  std::uint64_t fingerprint = 0;  // of the samples as they were read
  std::uint64_t seed = 0;
  std::uint64_t train = 0, validation = 0, test = 0;  // samples
  std::vector<Scored> scored = {};                    // the model first; empty: it has not been measured

  void save(Checkpoint& checkpoint) const;
  // None in files without them, such as those of earlier versions. Throws FileError.
  static std::optional<ModelFacts> load(const Checkpoint& checkpoint);
};

// Of a run on a dataset that this command makes; the scores are left out.
ModelFacts facts_of(const RunSpec& spec, std::string command, const Dataset& dataset);

// What data are called, without their folder: the same file may lie anywhere.
std::string name_of_data(const std::string& path);

}  // namespace ignd
