#pragma once

#include "lab/experiment_results.hpp"

#include <string>

namespace ignd {

// For people; the name where nobody has thought of a title.
inline const std::string& title_of(const ExperimentResults& experiment) {
  return experiment.title.empty() ? experiment.name : experiment.title;
}

inline const std::string& title_of(const PanelResults& panel) { return panel.title.empty() ? panel.name : panel.title; }

}  // namespace ignd
