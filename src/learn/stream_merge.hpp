#pragma once

#include "ignd/checkpoint.hpp"

#include <string>
#include <vector>

namespace ignd {

// A model file of a stream, as it was read.
struct StreamPart {
  std::string path;  // for messages
  Checkpoint saved;
};

// One model of several that learned from different parts of a stream, all of them beginning with the same base. What is
// counted adds up exactly: examples, losses, and for each input how often it was seen and its sum of squares. Weights
// are means, each by how often its input was seen since the base; the bias is such that the prediction at the mean
// input is the mean of the parts' predictions there (docs/math.md). The result can be resumed, or be the next base.
//
// Throws InvalidArgument for models that have no common base, that learn in different ways, or whose steps leave more
// behind than counts.
Checkpoint merge_streams(const StreamPart& base, const std::vector<StreamPart>& parts);

}  // namespace ignd
