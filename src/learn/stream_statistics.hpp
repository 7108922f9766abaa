#pragma once

#include "ignd/stream.hpp"

namespace ignd {

class Checkpoint;

// Counts a labelled example; `error` is f - y. One of weight 0 adds to nothing else, however large its loss.
void count_example(StreamStatistics& statistics, double error, double loss, double weight, bool correct);

void save_statistics(const StreamStatistics& statistics, Checkpoint& checkpoint);
StreamStatistics load_statistics(const Checkpoint& checkpoint);  // throws FileError

}  // namespace ignd
