#include "ignd/error.hpp"
#include "lab/task.hpp"
#include "rl/frozen_lake.hpp"
#include "rl/q_learning.hpp"

#include <algorithm>
#include <numeric>

namespace ignd {
namespace {

constexpr std::uint64_t most_points = 300;  // of a curve: more than a figure shows

using Kind = SettingKey::Kind;

std::vector<double> scales_of(std::size_t pairs, const std::string& kind, std::uint64_t seed) {
  if (kind == "one") return equal_scales(pairs);
  return random_scales(pairs, kind == "random" ? 0 : seed);
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The mean over the last `window` episodes at each point, or over all of them at the beginning.
void add_curve(RunResult& result, std::span<const double> returns, std::uint64_t window) {
  const std::size_t every = (returns.size() + most_points - 1) / most_points;
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const std::size_t episode = i + 1;
    if (episode % every != 0 && episode != returns.size()) continue;
    const std::size_t first = episode > window ? episode - window : 0;
    result.x.push_back(static_cast<double>(episode));
    result.y.push_back(mean(returns.subspan(first, episode - first)));
  }
}

class FrozenLakeTask final : public Task {
 public:
  std::string name() const override { return "frozen-lake"; }
  std::string meaning() const override {
    return "Q-learning on FrozenLake, with features of given scales. The score is the mean return over the last tenth "
           "of the episodes; a run whose values are not finite has diverged, and its return is 0 from then on.";
  }
  std::span<const SettingKey> keys() const override;
  std::vector<Column> columns() const override {
    return {{"early", "mean return over the first half of the episodes"}};
  }
  std::vector<std::string> faults(const Settings& settings) const override;
  double cost(const RunConfig& config) const override;
  RunResult run(const RunConfig& config, const RunControl& control) const override;
};

std::span<const SettingKey> FrozenLakeTask::keys() const {
  static const std::vector<SettingKey> keys{
      {"map", Kind::word, "4x4", 0, 0, {}, "4x4, 8x8, or rows of S F H G joined by /"},
      {"slippery", Kind::flag, "false", 0, 0, {}, "whether a step goes to either side in two of three cases"},
      {"gamma", Kind::number, "0.99", 0, 1, {}, "discount of a step"},
      {"episodes", Kind::count, "600", 1, 1e6, {}, "length of a run"},
      {"epsilon-from", Kind::number, "1", 0, 1, {}, "share of random actions in the first episode"},
      {"epsilon-to", Kind::number, "0.05", 0, 1, {}, "share of random actions at the end"},
      {"epsilon-episodes", Kind::count, "0", 0, 1e6, {}, "episodes over which the share falls; 0: half of all"},
      {"initial-value", Kind::number, "0", -1e6, 1e6, {}, "of every state and action; 1 is optimistic"},
      {"scales",
       Kind::word,
       "one",
       0,
       0,
       {"one", "random", "random-per-seed"},
       "of the features; random: nonzero integers in [-10^4, 10^4], the same for all seeds or drawn for each"},
      {"tie-tolerance", Kind::number, "1e-3", 0, 1, {}, "relative difference up to which two values are tied"},
      {"window", Kind::count, "20", 1, 1e6, {}, "episodes that a point of the curve is the mean of"},
  };
  return keys;
}

std::vector<std::string> FrozenLakeTask::faults(const Settings& settings) const {
  try {
    const FrozenLake lake(settings.word("map"), settings.flag("slippery"));
    return {};
  } catch (const InvalidArgument& fault) {
    return {fault.what()};
  }
}

double FrozenLakeTask::cost(const RunConfig& config) const {
  constexpr double typical_share = 0.3;  // of the step limit that an episode takes
  constexpr double step_seconds = 1e-7;
  const FrozenLake lake(config.settings.word("map"), config.settings.flag("slippery"));
  return typical_share * step_seconds * static_cast<double>(lake.step_limit()) *
         static_cast<double>(config.settings.count("episodes"));
}

RunResult FrozenLakeTask::run(const RunConfig& config, const RunControl& control) const {
  const Settings& settings = config.settings;
  const FrozenLake lake(settings.word("map"), settings.flag("slippery"));
  const std::uint64_t episodes = settings.count("episodes");
  const std::uint64_t epsilon_episodes = settings.count("epsilon-episodes");
  const QLearningOptions options{.optimizer = config.optimizer,
                                 .rate = config.rate,
                                 .gamma = settings.number("gamma"),
                                 .epsilon_from = settings.number("epsilon-from"),
                                 .epsilon_to = settings.number("epsilon-to"),
                                 .epsilon_episodes = epsilon_episodes > 0 ? epsilon_episodes : episodes / 2,
                                 .initial_value = settings.number("initial-value"),
                                 .tie_tolerance = settings.number("tie-tolerance")};
  FrozenLakeEnvironment environment(lake, RandomStream(config.seed, "environment"));
  QLearning learning(environment, scales_of(environment.pairs(), settings.word("scales"), config.seed), options,
                     config.seed);

  RunResult result;
  std::vector<double> returns;
  while (returns.size() < episodes) {
    if (control.stop()) throw Stopped();
    control.set_share(static_cast<double>(returns.size()) / static_cast<double>(episodes));
    returns.push_back(learning.run_episode());
    if (learning.diverged() && result.status == RunStatus::finished) {
      result.status = RunStatus::diverged;
      result.failed_at = learning.episodes();
    }
  }
  const std::span<const double> all(returns);
  result.score = mean(all.last(std::max<std::size_t>(1, episodes / 10)));
  result.extras = {{"early", mean(all.first(std::max<std::size_t>(1, episodes / 2)))}};
  add_curve(result, all, settings.count("window"));
  return result;
}

}  // namespace

const Task& frozen_lake_task() {
  static const FrozenLakeTask task;
  return task;
}

}  // namespace ignd
