#pragma once

#include "lab/experiment.hpp"

#include <cstdint>
#include <vector>

namespace ignd {

class Store;

// The runs that a method, or a variant of it, needs to have its rate chosen, for one of the rates, in one of the
// search's rungs where it has any.
std::vector<RunConfig> search_runs(const Experiment& experiment, const Method& method, double rate,
                                   std::size_t rung = 0);

// The runs that are reported, at the given or chosen rate.
std::vector<RunConfig> reported_runs(const Experiment& experiment, const Method& method, double rate);

// Every run that can be named now. Those of a later rung, and those at a rate that has not been chosen yet, are known
// once what comes before is done.
std::vector<RunConfig> runs_so_far(const Experiment& experiment, const Store& store);

// The number of runs in all, each counted once. While a search runs, the chosen rate and the number of failing rates
// are unknown, so the number is an estimate. Without a store, no search has begun.
std::uint64_t count_runs(const Experiment& experiment, const Store* store = nullptr);

// What the store has of an experiment's runs, with the rates chosen as far as they can be. The caller fills in the
// command and the time.
ExperimentResults collect_results(const Experiment& experiment, const Store& store);

// What the task has to say of the settings of a panel's methods, each sentence once.
std::vector<std::string> advice_on(const Experiment& experiment, const Panel& panel);

}  // namespace ignd
