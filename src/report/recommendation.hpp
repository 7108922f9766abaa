#pragma once

#include "report/statistics.hpp"

#include <string>

namespace ignd {

struct Recommendation {
  const MethodResults* best = nullptr;  // of the panel; none where no method has a score for every seed
  std::string sentence;                 // which method, at which rate, and how sure that is
};

// Of the methods whose rate was searched for, the best by what rates were chosen by; the scores say how sure that is.
// Those with a given rate are what it takes to be of use at all.
Recommendation recommend(const PanelResults& panel, const ScoreInfo& metric);

// Whether a mean difference is no chance, at the level of 5 %: Student's t-test on the pairs.
bool told_apart(const PairedDifference& difference);

}  // namespace ignd
