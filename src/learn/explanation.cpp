#include "learn/explanation.hpp"

#include "base/stopped.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/model_outputs.hpp"
#include "learn/recorded_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Form = ColumnCode::Form;
using Rows = std::vector<std::uint32_t>;

// The features of a column are side by side.
struct FeatureRun {
  std::size_t first = 0, count = 0;
};

// Values that a column is set to, as they stand in the table.
struct Grid {
  std::vector<std::pair<double, std::string>> values;
  std::string note;
};

class ColumnExplainer {
 public:
  ColumnExplainer(const TableDataset& dataset, Rows rows, const Model<float>& model, const ExplainOptions& options,
                  const ExplainControl& control)
      : dataset_(dataset),
        options_(options),
        control_(control),
        rows_(std::move(rows)),
        places_(dataset.encoder().match(dataset.table())),
        outputs_of_(model) {
    std::size_t first = 0;
    for (const ColumnCode& code : dataset.encoder().columns()) {
      if (code.form != Form::dropped) used_.push_back(blocks_.size());
      blocks_.push_back({first, code.features()});
      first += code.features();
    }
  }

  Explanation explain() {
    Explanation made;
    made.rows = rows_.size();
    const std::size_t columns = used_.size();
    const Rows averaged = averaged_rows();
    total_ = rows_.size() * (1 + columns * options_.repeats) +
             averaged.size() * options_.points * std::min<std::size_t>(columns, options_.curves);
    made.measure = score_label(dataset_, ScoreKind::automatic);
    made.score = score_of_outputs(outputs(rows_, [](std::size_t, std::span<float>) {}));
    if (!std::isfinite(made.score)) throw Error("the model's predictions are not all finite numbers");
    for (const std::size_t column : used_) made.importance.push_back(shuffle(column, made.score));
    std::vector<std::size_t> order(columns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t k) { return made.importance[k].increase; });
    for (const std::size_t k : std::span(order).first(std::min<std::size_t>(columns, options_.curves))) {
      made.dependence.push_back(depend(used_[k], averaged));
    }
    std::ranges::stable_sort(made.importance, std::ranges::greater{}, &ColumnImportance::increase);
    made.averaged = averaged.size();
    return made;
  }

 private:
  const ColumnCode& code(std::size_t column) const { return dataset_.encoder().columns()[column]; }
  double cell(std::uint32_t row, std::size_t column) const { return dataset_.table()[row][places_[column].column]; }

  Rows averaged_rows() const {
    Rows some = rows_;
    keep_some(some, std::max<std::uint64_t>(options_.averaged, 1), options_.seed, "rows to average over");
    return some;
  }

  // The model's outputs for rows whose features `change` has had its way with.
  template <class Change>
  std::vector<double> outputs(const Rows& rows, const Change& change) {
    const std::size_t count = outputs_of_.count(), together = outputs_of_.together();
    const std::size_t width = dataset_.encoder().features();
    std::vector<double> made(rows.size() * count);
    std::vector<float> features(together * width), scratch(dataset_.scratch_size());
    std::vector<Input<float>> inputs;
    for (std::size_t first = 0; first < rows.size(); first += together) {
      if (control_.stop != nullptr && *control_.stop) throw Stopped();
      const std::size_t end = std::min(first + together, rows.size());
      inputs.clear();
      for (std::size_t i = first; i < end; ++i) {
        const auto x = std::span(features).subspan((i - first) * width, width);
        std::ranges::copy(dataset_.sample(rows[i], scratch).x.values, x.begin());
        change(i, x);
        inputs.push_back({x});
      }
      outputs_of_(inputs, std::span(made).subspan(first * count, (end - first) * count));
      done_ += end - first;
      if (control_.progress) control_.progress(std::min(done_, total_), total_);
    }
    return made;
  }

  double score_of_outputs(const std::vector<double>& outputs) const {
    return score_of(dataset_, evaluate(dataset_, rows_, outputs), ScoreKind::automatic)
        .value_or(std::numeric_limits<double>::infinity());
  }

  ColumnImportance shuffle(std::size_t column, double before) {
    const FeatureRun block = blocks_[column];
    RandomStream stream(options_.seed, "shuffles of column " + code(column).name);
    std::vector<float> scratch(dataset_.scratch_size());
    std::vector<double> rises;
    for (std::uint64_t k = 0; k < options_.repeats; ++k) {
      Rows donors = rows_;
      stream.shuffle(donors);
      const auto swap = [&](std::size_t i, std::span<float> x) {
        const auto other = dataset_.sample(donors[i], scratch).x.values.subspan(block.first, block.count);
        std::ranges::copy(other, x.begin() + static_cast<std::ptrdiff_t>(block.first));
      };
      rises.push_back(score_of_outputs(outputs(rows_, swap)) - before);
    }
    const auto count = static_cast<double>(rises.size());
    ColumnImportance made{.column = code(column).name};
    made.increase = std::accumulate(rises.begin(), rises.end(), 0.0) / count;
    if (rises.size() < 2) return made;
    double squares = 0;
    for (const double rise : rises) squares += (rise - made.increase) * (rise - made.increase);
    made.deviation = std::sqrt(squares / (count - 1));
    return made;
  }

  PartialDependence depend(std::size_t column, const Rows& averaged) {
    const FeatureRun block = blocks_[column];
    const bool numeric = code(column).form == Form::scaled || code(column).form == Form::date;
    Grid grid = numeric ? number_grid(column) : text_grid(column);
    if (std::ranges::any_of(rows_, [&](std::uint32_t row) { return !std::isfinite(cell(row, column)); })) {
      grid.values.emplace_back(std::numeric_limits<double>::quiet_NaN(), "missing");
    }
    PartialDependence made{.column = code(column).name};
    made.is_date = code(column).format.is_date();
    made.note = grid.note;
    std::vector<float> features(dataset_.encoder().features());
    const auto cells = dataset_.table()[rows_.front()];
    std::vector<double> row(cells.begin(), cells.end());
    for (const auto& [value, text] : grid.values) {
      row[places_[column].column] = value;
      dataset_.encoder().encode(row, places_, features);
      const auto set = [&](std::size_t, std::span<float> x) {
        const auto same = std::span(features).subspan(block.first, block.count);
        std::ranges::copy(same, x.begin() + static_cast<std::ptrdiff_t>(block.first));
      };
      const bool number = numeric && std::isfinite(value);
      made.points.push_back(
          {text, number ? std::optional(value) : std::nullopt, means(averaged, outputs(averaged, set))});
    }
    return made;
  }

  // All different numbers if they are few, otherwise quantiles in the middle of as many equal parts: numbers that the
  // column has, none of them from its extremes.
  Grid number_grid(std::size_t column) const {
    std::vector<double> sorted;
    for (const std::uint32_t row : rows_) {
      if (const double value = cell(row, column); std::isfinite(value)) sorted.push_back(value);
    }
    std::ranges::sort(sorted);
    std::vector<double> chosen = sorted;
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    if (chosen.size() > options_.points) {
      chosen.clear();
      for (std::uint64_t k = 0; k < options_.points; ++k) {
        const std::size_t place = (2 * k + 1) * sorted.size() / (2 * options_.points);
        if (chosen.empty() || sorted[place] > chosen.back()) chosen.push_back(sorted[place]);
      }
    }
    Grid grid;
    const bool date = code(column).format.is_date();
    for (const double value : chosen) grid.values.emplace_back(value, date ? date_text(value) : in_short(value, 6));
    return grid;
  }

  // The most frequent texts.
  Grid text_grid(std::size_t column) const {
    const Column& texts = dataset_.table().columns()[places_[column].column];
    std::map<double, std::uint64_t> counts;
    for (const std::uint32_t row : rows_) {
      if (const double value = cell(row, column); std::isfinite(value)) ++counts[value];
    }
    if (texts.kind == ColumnKind::text && texts.labels.empty() && !counts.empty()) {
      return {.values = {}, .note = fmt::format("more than {} different texts", with_commas(most_labels))};
    }
    const auto name = [&](double value) {
      return texts.kind == ColumnKind::text ? texts.labels.at(static_cast<std::uint64_t>(value)) : format_number(value);
    };
    std::vector<std::pair<double, std::string>> values;
    values.reserve(counts.size());
    for (const auto& [value, count] : counts) values.emplace_back(value, name(value));
    std::ranges::sort(values, {}, [](const auto& one) { return one.second; });
    std::ranges::stable_sort(values, std::ranges::greater{}, [&](const auto& one) { return counts.at(one.first); });
    Grid grid{.values = std::move(values), .note = {}};
    if (grid.values.size() > options_.points) {
      grid.note = fmt::format("and {} rarer texts", with_commas(grid.values.size() - options_.points));
      grid.values.resize(options_.points);
    }
    return grid;
  }

  // Weighted means of what the outputs say.
  std::vector<double> means(const Rows& rows, const std::vector<double>& outputs) const {
    const Target& target = dataset_.target();
    const std::size_t count = outputs_of_.count();
    std::vector<double> sums(count), shares(count);
    double total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = std::span(outputs).subspan(i * count, count);
      const double weight = dataset_.row_weight(rows[i]);
      if (target.is_multiclass()) {
        softmax_probabilities(row, shares);
      } else {
        shares[0] = target.is_class() ? sigmoid(row[0]) : target.in_units(row[0]);
      }
      for (std::size_t k = 0; k < count; ++k) sums[k] += weight * shares[k];
      total += weight;
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  const TableDataset& dataset_;
  const ExplainOptions& options_;
  const ExplainControl& control_;
  Rows rows_;
  std::vector<ColumnPlace> places_;
  std::vector<FeatureRun> blocks_;  // of the encoder's columns
  std::vector<std::size_t> used_;   // columns that are not dropped
  ModelOutputs outputs_of_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace

Explanation explain_columns(const TableDataset& dataset, std::span<const std::uint32_t> rows, const Model<float>& model,
                            const ExplainOptions& options, const ExplainControl& control) {
  Rows some(rows.begin(), rows.end());
  std::erase_if(some, [&](std::uint32_t row) { return !(dataset.row_weight(row) > 0); });
  const std::uint64_t all = some.size();
  keep_some(some, options.rows, options.seed, "rows to explain by");
  std::ranges::sort(some);  // neighbours are near each other in memory
  Explanation made = ColumnExplainer(dataset, std::move(some), model, options, control).explain();
  made.all_rows = all;
  made.bad_rows = dataset.bad_rows();
  made.linear = linear_form(dataset.encoder(), dataset.target(), model);
  return made;
}

}  // namespace ignd
