#include "learn/search.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

namespace ignd {
namespace {

// The best candidates of a rung, at most `count`, in the order in which they were given.
std::vector<std::size_t> best_candidates(std::span<const std::size_t> candidates, std::span<const Trial> trials,
                                         std::uint64_t count, double tolerance) {
  const bool any_sound =
      std::ranges::any_of(trials, [](const Trial& trial) { return trial.score && !trial.collapsed; });
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].score && (!any_sound || !trials[i].collapsed)) places.push_back(i);
  }
  const auto score = [&](std::size_t i) { return *trials[i].score; };
  if (count == 1 && !places.empty()) {
    const double lowest = score(*std::ranges::min_element(places, {}, score));
    const double highest = lowest + tolerance * std::abs(lowest);
    places = {*std::ranges::find_if(places, [&](std::size_t i) { return score(i) <= highest; })};
  }
  std::ranges::stable_sort(places, {}, score);
  if (places.size() > count) places.resize(count);
  std::ranges::sort(places);
  std::vector<std::size_t> best;
  for (const std::size_t place : places) best.push_back(candidates[place]);
  return best;
}

// A run with one of the rates: keeps what its last epoch was worth.
class RateTrial final : public RunObserver {
 public:
  RateTrial(TrainingOptions options, double rate, std::function<void()> progress)
      : options_(std::move(options)), progress_(std::move(progress)) {
    options_.rate = rate;
  }

  RunSlot slot() { return {&options_, this}; }
  std::uint64_t learned() const { return learned_; }

  TriedRate result() const {
    TriedRate tried{.rate = options_.rate, .loss = std::numeric_limits<double>::infinity()};
    tried.collapsed = status_ == RunStatus::collapsed;
    if (last_ && (status_ == RunStatus::finished || tried.collapsed)) tried.loss = last_->validation.loss;
    return tried;
  }

  void look(RunView& /*run*/, const std::optional<EpochReport>& epoch) override {
    if (epoch) last_ = epoch;
  }
  void progress(const RunView& run) override {
    learned_ = run.learned();
    progress_();
  }
  void end(RunView& run) override { status_ = run.status(); }

 private:
  TrainingOptions options_;
  std::function<void()> progress_;
  std::atomic<std::uint64_t> learned_ = 0;
  std::optional<EpochReport> last_;
  RunStatus status_ = RunStatus::running;
};

// The rows that rates are tried on: part of the training rows, and of the validation rows to judge by.
Split part_of(const Dataset& dataset, const TrainingOptions& options, const SearchBudget& budget) {
  Split split = dataset.split();
  if (budget.judged < split.validation.size()) {
    RandomStream(options.seed, "judges of the race").shuffle(split.validation);
    split.validation.resize(budget.judged);
  }
  std::vector<std::uint32_t>& rows = split.train;
  std::erase_if(rows, [&](std::uint32_t row) { return dataset.row_weight(row) == 0; });  // nothing is learned from them
  RandomStream(options.seed, "race").shuffle(rows);
  if (split.validation.empty()) {
    const std::size_t held_back = std::max<std::size_t>(1, rows.size() / 10);
    split.validation.assign(rows.end() - static_cast<std::ptrdiff_t>(held_back), rows.end());
    rows.resize(std::max<std::size_t>(1, rows.size() - held_back));
  }
  rows.resize(std::min<std::size_t>(budget.samples, rows.size()));
  return split;
}

}  // namespace

SearchResult successive_halving(std::size_t count, std::span<const std::uint64_t> keep, const TryRung& try_rung,
                                double tolerance) {
  SearchResult result;
  result.candidates.resize(count);
  std::iota(result.candidates.begin(), result.candidates.end(), std::size_t{0});
  const std::size_t rungs = std::max<std::size_t>(1, keep.size());
  for (; result.rungs < rungs; ++result.rungs) {
    const auto trials = try_rung(result.rungs, result.candidates);
    if (!trials) return result;
    result.candidates = best_candidates(result.candidates, *trials, keep.empty() ? 1 : keep[result.rungs], tolerance);
  }
  result.complete = true;
  return result;
}

std::vector<double> usual_rates(const Optimizer& optimizer) {
  if (optimizer.has_plain_transform()) {
    if (optimizer.has_gradient_rule()) return {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
    return {0.01, 0.03, 0.1, 0.3};
  }
  return {3e-4, 1e-3, 3e-3, 1e-2};
}

RateSearch search_rate(const Engine& engine, const Dataset& dataset, const TrainingOptions& options,
                       const SearchBudget& budget, const std::atomic<bool>& stop, const SearchProgress& progress) {
  SearchBudget enough = budget;
  enough.samples = std::max<std::uint64_t>(budget.samples, options.batch ? options.batch->size : 1);
  const auto part = dataset.with_split(part_of(dataset, options, enough));
  const std::size_t rows = part->split().train.size();
  TrainingOptions short_run = options;
  short_run.keep_last = true;
  short_run.is_trial = true;
  short_run.epochs = std::clamp<std::uint64_t>(enough.samples / rows, 1, std::max<std::uint64_t>(options.epochs, 1));

  RateSearch result{.rates = {}, .rows = rows, .samples = short_run.epochs * rows, .best = {}};
  const auto rates = usual_rates(options.optimizer);
  std::vector<std::unique_ptr<RateTrial>> runs;
  std::mutex mutex;
  const auto tell = [&] {
    if (!progress) return;
    const std::lock_guard lock(mutex);
    std::uint64_t done = 0;
    for (const auto& run : runs) done += run->learned();
    progress(done, rates.size() * result.samples);
  };
  std::vector<RunSlot> slots;
  for (const double rate : rates) {
    runs.push_back(std::make_unique<RateTrial>(short_run, rate, tell));
    slots.push_back(runs.back()->slot());
  }
  constexpr double close_to_best = 0.05;
  const auto chosen = successive_halving(
      rates.size(), {},
      [&](std::size_t, std::span<const std::size_t>) -> std::optional<std::vector<Trial>> {
        train_group(engine, slots, *part, stop);
        std::vector<Trial> trials;
        for (const auto& run : runs) {
          const TriedRate tried = result.rates.emplace_back(run->result());
          trials.push_back({.score = std::isfinite(tried.loss) ? std::optional(tried.loss) : std::nullopt,
                            .collapsed = tried.collapsed});
        }
        return stop ? std::nullopt : std::optional(std::move(trials));
      },
      close_to_best);
  if (chosen.chosen()) result.best = rates[*chosen.chosen()];
  return result;
}

}  // namespace ignd
