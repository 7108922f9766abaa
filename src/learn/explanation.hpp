#pragma once

#include "ignd/model.hpp"
#include "ignd/model_file.hpp"
#include "learn/coefficients.hpp"
#include "learn/table_dataset.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What a trained model has learned from the columns of its data.
namespace ignd {

struct ExplainOptions {
  std::uint64_t seed = 1;         // draws rows and shuffles them
  std::uint64_t rows = 10'000;    // that columns are shuffled in, at most; of a stream, the first
  std::uint64_t repeats = 5;      // shuffles of each column
  std::uint64_t curves = 4;       // columns with a partial dependence: the most important ones
  std::uint64_t averaged = 1000;  // rows that a partial dependence is the mean over, at most
  std::uint64_t points = 12;      // of a partial dependence, at most, besides missing values
  std::uint64_t heaviest = 20;    // features of a stream
};

// What the model predicts on average if a column has the same value in all rows.
struct PartialDependence {
  struct Point {
    std::string text = {};  // the value for people: "12.5", "2024-03-01", "Kiel", "missing"
    std::optional<double> value =
        {};                          // a number, or of a date its seconds since 1970; none of texts and missing values
    std::vector<double> means = {};  // of numbers their mean; of two classes the mean probability of the positive one;
                                     // of more, those of all
  };
  std::string column = {};
  bool is_date = false;
  std::vector<Point> points = {};
  std::string note = {};  // what is left out; usually empty

  bool is_text() const { return !points.empty() && !points.front().value; }
};

struct Explanation {
  std::uint64_t rows = 0;      // that were looked at,
  std::uint64_t all_rows = 0;  // of those that could be used
  BadRowCount bad_rows = {};   // left out
  // Of a table.
  std::string measure = {};                       // "RMSE", "log loss"; lower is better
  double score = 0;                               // the measure before any column is shuffled
  std::vector<ColumnImportance> importance = {};  // most important first
  std::uint64_t averaged = 0;                     // rows
  std::vector<PartialDependence> dependence = {};
  std::optional<LinearForm> linear = {};  // of linear models
  // Of a stream.
  std::optional<HeavyFeatures> features = {};
};

struct ExplainControl {
  std::function<void(std::size_t done, std::size_t total)> progress = {};  // in predictions
  const std::atomic<bool>* stop = nullptr;
};

// Explains a model of a table by some rows with known targets, of which those without a weight are left out. Throws
// Stopped, and Error where a prediction is not finite.
Explanation explain_columns(const TableDataset& dataset, std::span<const std::uint32_t> rows, const Model<float>& model,
                            const ExplainOptions& options, const ExplainControl& control = {});

}  // namespace ignd
