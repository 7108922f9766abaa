#include "core/updater.hpp"

#include "ignd/checkpoint.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {

namespace {

// The smallest rows and dense layers that are updated lazily: below these sizes, finding out what a row has missed
// costs more than the steps (docs/log/performance.md).
constexpr std::size_t waiting_width = 128;
constexpr std::size_t waiting_weights = 100'000;

}  // namespace

void check_not_negative(std::vector<std::string>& faults, const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  faults.push_back(fmt::format("{} is {}, but must be a finite number of at least 0", name, value));
}

template <class T>
std::vector<std::string> Updater<T>::faults(const Options& options) {
  std::vector<std::string> found;
  const double turned = options.schedule.largest_rate() * options.transform->decay();
  if (turned >= 1) {
    found.push_back(
        fmt::format("the rate times the decay of '{}' is {}: a step would shrink all weights to zero or past it",
                    options.transform->spec(), turned));
  }
  const bool sparse =
      std::any_of(options.tables.begin(), options.tables.end(), [](auto& table) { return table.sparse; });
  if (!sparse || options.l2 == 0) return found;
  if (!options.transform->is_plain()) {
    found.push_back(
        fmt::format("l2 with the transform '{}' on sparse rows: what a row missed depends on every step in "
                    "between; use plain, or adamw with its own decay",
                    options.transform->spec()));
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
  const bool drifts = options_.transform->drifts();
  if (averages) average_.resize(parameter_count);
  for (const RowTable& table : options_.tables) {
    LazyTable rows{.table = table, .stamp = {}, .log_shrink = {}};
    const bool large = table.width >= waiting_width && table.rows * table.width >= waiting_weights;
    const bool pays = large && options_.l2 == 0 && !averages && !options_.whole_layers;
    if (table.sparse ? drifts || averages : drifts && pays) rows.stamp.resize(table.rows);
    if (table.sparse && options_.l2 > 0) rows.log_shrink.resize(table.rows);
    waits_ |= !rows.stamp.empty() || !rows.log_shrink.empty();
    tables_.push_back(std::move(rows));
  }
  reserve_scratch();
}

// A copied vector has no spare capacity, and a step must not allocate.
template <class T>
void Updater<T>::reserve_scratch() {
  reads_.reserve(tables_.size());
  if (!waits_) return;
  // Long sums have fewer terms than this for all usual betas; beyond them the arrays grow once.
  constexpr std::size_t most_terms = 512;
  for (std::size_t n = 0; n < cache_.size(); ++n) {
    cache_[n].steps.factor.reserve(n == 0 ? most_terms : n);
    cache_[n].steps.root.reserve(n == 0 ? most_terms : n);
  }
}

template <class T>
void Updater<T>::average_range(std::size_t offset, std::size_t count, std::uint64_t t) {
  const double share = 1 / static_cast<double>(t - options_.average_from + 1);
  kernels::table<T>().average(average_.data() + offset, w_.data() + offset, count, static_cast<T>(share));
}

// All weights outside sparse tables.
template <class T>
void Updater<T>::average_layers(std::uint64_t t) {
  std::size_t start = 0;
  for (const LazyTable& rows : tables_) {
    if (!rows.table.sparse) continue;
    average_range(start, rows.table.offset - start, t);
    start = rows.table.offset + rows.table.rows * rows.table.width;
  }
  average_range(start, w_.size() - start, t);
}

// A short run of idle steps is built from the run that is one step shorter; a long one, which is rarer, is summed by
// itself.
template <class T>
const IdleSteps<T>& Updater<T>::idle_steps(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t count = last - first + 1;
  if (count >= cache_.size()) {
    options_.transform->sum_idle_steps(first, last, options_.schedule, cache_[0].steps);
    return cache_[0].steps;
  }
  const auto holds = [&](const CachedSteps& cached) {
    return cached.last == last || (cached.steps.stationary && cached.last <= last);
  };
  for (std::uint64_t n = holds(cache_[count]) ? count : 1; n <= count; ++n) {
    CachedSteps& cached = cache_[n];
    if (holds(cached)) continue;
    options_.transform->prepend_idle_step(last - n + 1, options_.schedule, n == 1 ? none_ : cache_[n - 1].steps,
                                          cached.steps);
    cached.last = last;
  }
  return cache_[count].steps;
}

template <class T>
void Updater<T>::catch_up(LazyTable& rows, std::uint32_t row) {
  const std::size_t width = rows.table.width;
  const std::size_t offset = rows.table.offset + row * width;
  if (!rows.stamp.empty() && rows.stamp[row] < t_) {
    const std::uint64_t first = rows.stamp[row] + 1;
    if (average_.empty()) {
      options_.transform->idle(w_, state_, offset, width, idle_steps(first, t_));
    } else {
      for (std::uint64_t missed = first; missed <= t_; ++missed) {
        options_.transform->idle(w_, state_, offset, width, idle_steps(missed, missed));
        if (missed >= options_.average_from) average_range(offset, width, missed);
      }
    }
    rows.stamp[row] = t_;
  }
  if (!rows.log_shrink.empty()) {
    const double factor = std::exp(log_shrink_ - rows.log_shrink[row]);
    kernels::table<T>().shrink(w_.data() + offset, width, static_cast<T>(factor));
    rows.log_shrink[row] = log_shrink_;
  }
}

template <class T>
void Updater<T>::mark_waiting(Sensitivity<T>& j) const {
  for (auto& block : j) {
    auto* outer = std::get_if<Outer<T>>(&block);
    if (outer == nullptr) continue;
    outer->rows_wait = std::any_of(tables_.begin(), tables_.end(), [&](const LazyTable& rows) {
      return rows.table.offset == outer->offset && !rows.stamp.empty();
    });
  }
}

template <class T>
void Updater<T>::about_to_read(std::size_t table, std::span<const std::uint32_t> rows) {
  reads_.push_back({table, rows});
  for (const std::uint32_t row : rows) catch_up(tables_[table], row);
}

template <class T>
void Updater<T>::catch_up_all(std::span<T> w, std::uint64_t t) {
  begin(w, t);
  for (LazyTable& rows : tables_) {
    for (std::uint32_t row = 0; row < rows.table.rows; ++row) catch_up(rows, row);
  }
}

// Averages, and notes which rows are up to date: those of sparse tables that were read, once each.
template <class T>
void Updater<T>::follow_up(const Step& step) {
  const bool averages = !average_.empty() && step.t >= options_.average_from;
  if (averages) average_layers(step.t);
  if (!waits_) return;
  log_shrink_ += std::log1p(-step.alpha * step.decay);
  for (const Read& read : reads_) {
    LazyTable& rows = tables_[read.table];
    for (const std::uint32_t row : read.rows) {
      if (!rows.log_shrink.empty()) rows.log_shrink[row] = log_shrink_;
      if (rows.stamp.empty() || rows.stamp[row] == step.t) continue;
      rows.stamp[row] = step.t;
      if (averages) average_range(rows.table.offset + row * rows.table.width, rows.table.width, step.t);
    }
  }
}

template <class T>
void Updater<T>::save(Checkpoint& checkpoint) const {
  const auto names = options_.transform->state_names();
  for (std::size_t i = 0; i < names.size(); ++i) checkpoint.set("transform." + names[i], std::span<const T>(state_[i]));
  checkpoint.set("average", std::span<const T>(average_));
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    checkpoint.set(fmt::format("rows.{}.stamp", i), std::span<const std::uint64_t>(tables_[i].stamp));
    checkpoint.set(fmt::format("rows.{}.log-shrink", i), std::span<const double>(tables_[i].log_shrink));
  }
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
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    LazyTable& rows = tables_[i];
    rows.stamp = checkpoint.array<std::uint64_t>(fmt::format("rows.{}.stamp", i), rows.stamp.size());
    rows.log_shrink = checkpoint.array<double>(fmt::format("rows.{}.log-shrink", i), rows.log_shrink.size());
  }
  log_shrink_ = checkpoint.array<double>("log-shrink", 1)[0];
  for (CachedSteps& cached : cache_) {
    cached.last = 0;
    cached.steps.stationary = cached.steps.complete = false;
  }
  reserve_scratch();
}

template class Updater<float>;
template class Updater<double>;

}  // namespace ignd
