#include "core/updater.hpp"

#include "ignd/checkpoint.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {

template <class T>
std::vector<std::string> Updater<T>::faults(const Options& options) {
  if (options.table.rows == 0 || options.l2 == 0) return {};
  std::vector<std::string> found;
  const std::string spec = options.transform->spec();
  if (spec != "plain") {
    found.push_back(
        fmt::format("l2 with the transform '{}' on sparse rows: what a row missed depends on every step in "
                    "between; use plain, or adamw with its own decay",
                    spec));
  }
  if (options.average_from != 0) {
    found.emplace_back(
        "l2 with averaging on sparse rows: what a row's average missed depends on every step in between");
  }
  return found;
}

template <class T>
Updater<T>::Updater(Options options, std::size_t parameter_count)
    : options_(std::move(options)), state_(options_.transform->initial_state(parameter_count)) {
  const bool averages = options_.average_from != 0;
  if (averages) average_.resize(parameter_count);
  if (options_.transform->drifts() || averages) row_stamp_.resize(options_.table.rows);
  if (options_.l2 > 0) row_log_shrink_.resize(options_.table.rows);
}

template <class T>
void Updater<T>::average_range(std::span<const T> w, std::size_t offset, std::size_t count, std::uint64_t t) {
  if (average_.empty() || t < options_.average_from) return;
  const double weight = 1 / static_cast<double>(t - options_.average_from + 1);
  kernels::average(average_.data() + offset, w.data() + offset, count, weight);
}

template <class T>
void Updater<T>::catch_up(std::span<T> w, std::span<const std::uint32_t> rows, std::uint64_t t) {
  const std::size_t width = options_.table.width;
  if (!row_stamp_.empty()) {
    for (const std::uint32_t row : rows) {
      for (std::uint64_t missed = row_stamp_[row] + 1; missed <= t; ++missed) {
        options_.transform->idle(w, state_, row_offset(row), width, {missed, options_.schedule.rate(missed)});
        average_range(w, row_offset(row), width, missed);
      }
      row_stamp_[row] = t;
    }
  }
  if (!row_log_shrink_.empty()) {
    for (const std::uint32_t row : rows) {
      kernels::shrink(w.data() + row_offset(row), width, std::exp(log_shrink_ - row_log_shrink_[row]));
      row_log_shrink_[row] = log_shrink_;
    }
  }
}

template <class T>
void Updater<T>::catch_up_all(std::span<T> w, std::uint64_t t) {
  for (std::uint32_t row = 0; row < options_.table.rows; ++row) catch_up(w, {&row, 1}, t);
}

template <class T>
double Updater<T>::step(std::span<T> w, const Sensitivity<T>& j, const Sensitivity<T>& direction,
                        std::span<const std::uint32_t> rows, double c, double decay, StepAt at) {
  const double h = options_.transform->apply(w, state_, j, direction, c, decay, at);

  const RowTable& table = options_.table;
  const std::size_t table_end = table.offset + table.rows * table.width;
  average_range(w, 0, table.offset, at.t);
  average_range(w, table_end, w.size() - table_end, at.t);
  for (const std::uint32_t row : rows) average_range(w, row_offset(row), table.width, at.t);

  if (!row_stamp_.empty()) {
    for (const std::uint32_t row : rows) row_stamp_[row] = at.t;
  }
  if (!row_log_shrink_.empty()) {
    log_shrink_ += std::log1p(-at.alpha * decay);
    for (const std::uint32_t row : rows) row_log_shrink_[row] = log_shrink_;
  }
  return h;
}

template <class T>
void Updater<T>::save(Checkpoint& checkpoint) const {
  const auto names = options_.transform->state_names();
  for (std::size_t i = 0; i < names.size(); ++i) checkpoint.set("transform." + names[i], std::span<const T>(state_[i]));
  checkpoint.set("average", std::span<const T>(average_));
  checkpoint.set("rows.stamp", std::span<const std::uint64_t>(row_stamp_));
  checkpoint.set("rows.log-shrink", std::span<const double>(row_log_shrink_));
  checkpoint.set("log-shrink", std::span<const double>(&log_shrink_, 1));
}

template <class T>
void Updater<T>::restore(const Checkpoint& checkpoint) {
  const auto names = options_.transform->state_names();
  const auto load = [&](const std::string& name, AlignedVector<T>& into) {
    const auto& saved = checkpoint.array<T>(name, into.size());
    std::copy(saved.begin(), saved.end(), into.begin());
  };
  for (std::size_t i = 0; i < names.size(); ++i) load("transform." + names[i], state_[i]);
  load("average", average_);
  row_stamp_ = checkpoint.array<std::uint64_t>("rows.stamp", row_stamp_.size());
  row_log_shrink_ = checkpoint.array<double>("rows.log-shrink", row_log_shrink_.size());
  log_shrink_ = checkpoint.array<double>("log-shrink", 1)[0];
}

template class Updater<float>;
template class Updater<double>;

}  // namespace ignd
