#pragma once

#include "ignd/checkpoint.hpp"
#include "ignd/stream.hpp"

namespace ignd {

// Counts a labelled example; `error` is f - y. One of weight 0 adds to nothing else, however large its loss.
void count_example(StreamStatistics& statistics, double error, double loss, double weight, bool correct);

void save_statistics(const StreamStatistics& statistics, Checkpoint& checkpoint);
StreamStatistics load_statistics(const Checkpoint& checkpoint);  // throws FileError

// The state of a learner of version 1, which packed the statistics and the range of the targets into two arrays, under
// the names of version 2. Throws FileError.
Checkpoint named_state(const Checkpoint& old);

}  // namespace ignd
