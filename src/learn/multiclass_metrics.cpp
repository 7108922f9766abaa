#include "learn/multiclass_metrics.hpp"

#include "ignd/error.hpp"
#include "learn/metric_checks.hpp"
#include "learn/model_outputs.hpp"

#include <cmath>

#include <fmt/format.h>

namespace ignd {

MulticlassSums::MulticlassSums(std::size_t classes) {
  if (classes < 2) throw InvalidArgument(fmt::format("there are {} classes to tell apart; two are the least", classes));
  sums_.classes = classes;
  sums_.confusion.resize(classes * classes);
}

void MulticlassSums::check(double label, std::span<const double> logits, double weight) const {
  if (logits.size() != sums_.classes) {
    throw InvalidArgument(
        fmt::format("row {} has {} logits; give one for each of {} classes", rows_, logits.size(), sums_.classes));
  }
  if (!(label >= 0 && label < static_cast<double>(sums_.classes) && label == std::floor(label))) {
    throw InvalidArgument(fmt::format("the label of row {} is {}; it must be the number of a class, 0 to {}", rows_,
                                      label, sums_.classes - 1));
  }
  for (const double logit : logits) check_finite(logit, "logit", rows_);
  check_weight(weight, rows_);
}

void MulticlassSums::add(double label, std::span<const double> logits, double weight) {
  ++rows_;
  check(label, logits, weight);
  if (weight == 0) return;
  const auto truth = static_cast<std::size_t>(label);
  const std::size_t predicted = most_probable(logits);
  ++sums_.count;
  weight_ += weight;
  if (truth == predicted) right_ += weight;
  log_loss_ += weight * cross_entropy(truth, logits);
  sums_.confusion[truth * sums_.classes + predicted] += weight;
}

double MulticlassSums::macro_f1() const {
  const std::size_t classes = sums_.classes;
  std::vector<double> labelled(classes), predicted(classes);
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t k = 0; k < classes; ++k) {
      labelled[i] += sums_.confused(i, k);
      predicted[k] += sums_.confused(i, k);
    }
  }
  double sum = 0, occurring = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    if (labelled[k] + predicted[k] == 0) continue;
    sum += 2 * sums_.confused(k, k) / (labelled[k] + predicted[k]);
    ++occurring;
  }
  return sum / occurring;
}

MulticlassMetrics MulticlassSums::metrics() const {
  check_not_empty(weight_);
  MulticlassMetrics metrics = sums_;
  metrics.accuracy = right_ / weight_;
  metrics.log_loss = log_loss_ / weight_;
  metrics.macro_f1 = macro_f1();
  return metrics;
}

MulticlassMetrics multiclass_metrics(std::span<const double> labels, std::span<const double> logits,
                                     std::span<const double> weights, std::size_t classes) {
  const std::size_t n = labels.size();
  MulticlassSums sums(classes);
  if (logits.size() / classes != n || logits.size() % classes != 0 || (!weights.empty() && weights.size() != n)) {
    throw InvalidArgument(
        fmt::format("there are {} labels, {} logits of {} classes and {} weights; give one of each "
                    "per row, and a logit for each class",
                    n, logits.size(), classes, weights.size()));
  }
  for (std::size_t i = 0; i < n; ++i) {
    sums.add(labels[i], logits.subspan(i * classes, classes), weights.empty() ? 1 : weights[i]);
  }
  return sums.metrics();
}

}  // namespace ignd
