#pragma once

#include "report/statistics.hpp"

#include <string>

namespace ignd {

struct Recommendation {
  const MethodResults* best = nullptr;  // of the panel; none where no method has a score for every seed
  std::string sentence;                 // which method, at which rate, and how sure that is
};

// The best of the methods whose rate was searched for, ranked by the score that chose the rates; the reported scores
// say how certain that is. Methods with a given rate serve as baselines.
Recommendation recommend(const PanelResults& panel, const ScoreInfo& metric);

// Whether a mean difference is significant at the 5 % level: Student's t-test on the pairs.
bool told_apart(const PairedDifference& difference);

}  // namespace ignd
