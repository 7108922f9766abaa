#pragma once

#include "lab/experiment.hpp"
#include "report/line_style.hpp"
#include "report/statistics.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

struct FigurePoint {
  double x = 0, y = 0;
  std::optional<std::pair<double, double>> band;
};

struct FigureLine {
  std::string name = {};
  std::string remark = {};  // "2 of 20 failed", or empty
  LineStyle style = {};
  std::vector<FigurePoint> points = {};
  bool joined = true;  // by a line; otherwise there are only marks
};

// A panel, ready to draw.
struct FigurePanel {
  std::string title = {};
  std::vector<FigureLine> lines = {};  // none: nothing can be drawn
  double low_x = 0, high_x = 0;
  double low_y = 0, high_y = 0;
  bool log_y = false;
  std::string finding = {};               // what it shows, in a sentence; may be empty
  std::vector<std::string> remarks = {};  // what a reader of the figure has to know
};

struct Figure {
  std::string name = {};  // "curves": for its files
  std::string heading = {};
  std::string title = {};
  std::string x_label = {}, y_label = {};
  bool log_x = false;
  bool marks = false;        // the points are few, and each counts
  std::string caption = {};  // what the lines and the shaded regions are
  std::vector<FigurePanel> panels = {};
};

// The figures of a kind: that of the scores, and, where runs have such curves, that of the validation scores.
std::vector<Figure> figures_of(FigureKind kind, const ExperimentResults& experiment);

// The learning curve of every method, at its given or chosen rate.
Figure curve_figure(const ExperimentResults& experiment, CurvePart part = CurvePart::scored);

// The same over training time, for methods whose runs were timed.
Figure seconds_figure(const ExperimentResults& experiment);

// What the steps of the methods were like, for runs that recorded them: for each panel one of every quantity.
Figure step_figure(const ExperimentResults& experiment);

// The score at each learning rate of the search: how sensitive a method is to tuning.
Figure rate_figure(const ExperimentResults& experiment);

}  // namespace ignd
