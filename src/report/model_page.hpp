#pragma once

#include "learn/explanation.hpp"
#include "learn/metrics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// What a training run has to say of its model, for a page.
struct ModelReport {
  struct Curve {
    std::string name = {};  // "network 3"
    std::vector<double> epochs = {}, training = {},
                        validation = {};  // losses; no validation losses where there are no such rows
  };
  struct ScoreRow {
    std::string part = {}, predictor = {};  // "test", "model"
    std::vector<std::optional<double>> scores = {};
  };
  struct Residual {
    double prediction = 0, residual = 0;  // target less prediction
  };
  struct WorstRow {
    std::string name = {}, target = {}, prediction = {};
    double error = 0;
  };

  std::string target = {}, data = {};  // "price", "houses.csv"
  std::string summary = {};            // of the run, in a sentence or two
  std::vector<std::string> warnings = {};
  std::string samples = "rows";
  std::vector<std::pair<std::string, std::string>> columns = {};  // and what became of each
  std::vector<Curve> curves = {};
  std::vector<std::string> score_names = {};
  std::vector<ScoreRow> scores = {};

  // On the rows that were measured: the test rows, if there are any.
  std::string part = {};       // "test"; empty: there are none to measure on
  std::string part_note = {};  // what to bear in mind of them; may be empty
  std::vector<Residual> residuals = {};
  std::uint64_t left_out_residuals = 0;
  std::vector<std::string> classes = {};
  std::vector<double> confusion = {};  // a row of weights of predictions for each true class
  std::vector<ReliabilityBin> reliability = {};
  std::string reliable_of = {};  // "the probability of yes"
  double calibration_error = 0;
  std::optional<Explanation> explanation = {};
  std::string error_name = {};  // of the worst rows: "error"
  std::vector<WorstRow> worst = {};

  std::vector<std::pair<std::string, std::string>> card = {};  // the model card: names and texts
};

struct WrittenPage {
  std::string html;
  std::string fault;  // why figures are missing; empty if they are there
};

// One self-contained page, complete without its script. Without gnuplot it has no figures, and says so.
WrittenPage model_page(const ModelReport& report, const std::string& gnuplot = "gnuplot");

}  // namespace ignd
