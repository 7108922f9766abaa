#pragma once

#include "lab/experiment.hpp"
#include "report/figure.hpp"
#include "report/statistics.hpp"

#include <string>

// What results say, in sentences.
namespace ignd {

struct Recommendation {
  const MethodResults* best = nullptr;  // of the panel; none where no method has a score for every seed
  std::string sentence;                 // which method, at which rate, and how sure that is
};

// The best of the methods whose rate was searched for, ranked by the score that chose the rates; the reported scores
// say how certain that is. Methods with a given rate serve as baselines.
Recommendation recommend(const PanelResults& panel, const ScoreInfo& metric);

// The sentences below say what a panel shows: empty where there is nothing to compare.

// Which method has the best scores, by how much, and whether a paired test can tell it apart from the others.
std::string score_finding(const PanelResults& panel, const ScoreInfo& metric);

// How the lines of a panel end, without a test.
std::string curve_finding(const FigurePanel& panel, const std::string& label, const ScoreInfo& metric);

// Which line changes most and least along a panel: where neither more nor less is better.
std::string change_finding(const FigurePanel& panel, const ScoreInfo& metric);

// Which method's runs are the shortest and the longest.
std::string seconds_finding(const FigurePanel& panel);

// Which method's score depends least and most on the learning rate.
std::string rates_finding(const PanelResults& panel, const ScoreInfo& metric);

}  // namespace ignd
