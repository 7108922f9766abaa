#pragma once

#include "learn/engine.hpp"
#include "learn/run_spec.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ignd {

class Table;

// A model, or an ensemble, trained once for each fold of a table and measured on it, beside the baselines. Each fold
// has its own encoder, search for a rate and validation rows: nothing of a fold is known to the model that it measures.
struct CrossValidation {
  struct Predictor {
    std::string name;            // "model" first, then the baselines
    std::vector<Scores> scores;  // on each fold
    JudgedSamples judged = {};   // the samples of all folds
  };
  struct Fold {
    std::uint64_t rows = 0, train = 0, validation = 0;
    double rate = 0;
    std::uint64_t epochs = 0, kept_epoch = 0;
    RunStatus status = RunStatus::running;
  };
  std::vector<Predictor> predictors;
  std::vector<Fold> folds;
};

// Called now and then, by one thread at a time, with the samples learned and those to learn so far as they are known.
using FoldProgress = std::function<void(std::uint64_t learned, std::uint64_t to_learn)>;

// A pure function of the table and the spec, whose dataset says how many folds there are. Networks of several folds are
// trained at a time, those of an ensemble fold by fold. Throws Stopped once `stop` is set, and Error where a run
// diverged in its first epoch or at every rate.
CrossValidation cross_validate(const Engine& engine, const Table& table, const RunSpec& spec,
                               const std::atomic<bool>& stop, const FoldProgress& progress = {});

}  // namespace ignd
