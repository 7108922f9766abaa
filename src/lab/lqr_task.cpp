#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "ignd/schedule.hpp"
#include "lab/task.hpp"
#include "rl/linear_system.hpp"
#include "rl/policy_iteration.hpp"
#include "rl/transitions.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Kind = SettingKey::Kind;

constexpr double seconds_between_looks = 0.005;  // at the stop flag

SettingKey number_key(const char* name, const char* default_value, double low, double high, const char* meaning) {
  return {name, Kind::number, default_value, low, high, {}, meaning};
}
SettingKey count_key(const char* name, const char* default_value, double high, const char* meaning) {
  return {name, Kind::count, default_value, 1, high, {}, meaning};
}
SettingKey word_key(const char* name, std::vector<std::string> choices, const char* meaning) {
  const std::string default_value = choices.front();
  return {name, Kind::word, default_value, 0, 0, std::move(choices), meaning};
}
SettingKey matrix_key(const char* name, const char* meaning) { return {name, Kind::matrix, "", 0, 0, {}, meaning}; }

const std::vector<SettingKey>& lqr_keys() {
  static const std::vector<SettingKey> keys{
      word_key("system", {"uav", "bdt", "own"},
               "the aircraft AC1 or the distillation tower BDT1 of COMPleib, or the matrices a, b, q and r"),
      matrix_key("a", "of ds/dt = A s + B a, for system own"),
      matrix_key("b", "of ds/dt = A s + B a, for system own"),
      matrix_key("q", "of the reward -(s'Qs + a'Ra), for system own; the identity if not given"),
      matrix_key("r", "of the reward -(s'Qs + a'Ra), for system own; the identity if not given"),
      number_key("period", "0.1", 1e-9, 1e9, "seconds for which an action is held"),
      number_key("gamma", "0.9", 0, 1, "the discount of a step"),
      number_key("noise", "0", 0, 1e9,
                 "standard deviation of the noise on each state; above 0, the features have a constant"),
      count_key("updates", "5000", 1e9, "updates of the values before each improvement of the policy"),
      count_key("improvements", "10", 1e6, "improvements of the policy"),
      count_key("episode-steps", "10", 1e6, "steps of an episode"),
      number_key("exploration-low", "-0.5", -20, 20,
                 "log10 of the smallest scale of an episode's initial state and exploring actions"),
      number_key("exploration-high", "0.5", -20, 20, "log10 of the largest"),
      word_key("initial-policy", {"zero", "random"}, "K = 0, or normal elements"),
      number_key("initial-scale", "0.1", 0, 1e6, "standard deviation of a random initial policy's elements"),
      number_key("horizon", "0", 0, 1e12,
                 "updates after which the rate has halved, rate / (1 + t / horizon); 0: a constant rate"),
      word_key("sampling", {"episodes", "iid"},
               "along trajectories with exploring actions, or independent states and actions N(0, I)"),
      word_key("evaluation", {"td", "rls-td"},
               "one step of the optimizer per update, or recursive least squares, which has no rate"),
  };
  return keys;
}

MatrixXd to_matrix(const std::vector<std::vector<double>>& rows) {
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  MatrixXd matrix(static_cast<Index>(rows.size()), static_cast<Index>(columns));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix(static_cast<Index>(i), static_cast<Index>(j)) = rows[i][j];
  }
  return matrix;
}

MatrixXd weight_or_identity(const Settings& settings, const char* name, Index size) {
  const auto rows = settings.matrix(name);
  return rows.empty() ? MatrixXd(MatrixXd::Identity(size, size)) : to_matrix(rows);
}

ContinuousSystem continuous_system(const Settings& settings) {
  const std::string& name = settings.word("system");
  if (name == "uav") return uav_system();
  if (name == "bdt") return bdt_system();
  MatrixXd a = to_matrix(settings.matrix("a"));
  MatrixXd b = to_matrix(settings.matrix("b"));
  MatrixXd q = weight_or_identity(settings, "q", a.rows());
  MatrixXd r = weight_or_identity(settings, "r", b.cols());
  return {std::move(a), std::move(b), std::move(q), std::move(r)};
}

std::vector<std::string> matrix_faults(const Settings& settings) {
  const bool own = settings.word("system") == "own";
  std::vector<std::string> found;
  for (const char* name : {"a", "b", "q", "r"}) {
    const auto rows = settings.matrix(name);
    if (!own && !rows.empty()) {
      found.push_back(
          fmt::format("{} is given, but the system is '{}'; set system = \"own\"", name, settings.word("system")));
    }
    const bool ragged = std::ranges::any_of(rows, [&](const auto& row) { return row.size() != rows[0].size(); });
    if (ragged) found.push_back(fmt::format("the rows of {} have different lengths", name));
  }
  if (own && settings.matrix("a").empty()) found.emplace_back("system \"own\" needs the matrix a");
  if (own && settings.matrix("b").empty()) found.emplace_back("system \"own\" needs the matrix b");
  return found;
}

MatrixXd initial_policy(const Settings& settings, const LinearSystem& system, std::uint64_t seed) {
  MatrixXd policy = MatrixXd::Zero(system.actions(), system.states());
  if (settings.word("initial-policy") == "zero") return policy;
  RandomStream stream(seed, "initial policy");
  const double scale = settings.number("initial-scale");
  for (double& element : policy.reshaped()) element = scale * stream.normal();
  return policy;
}

Transitions make_transitions(const Settings& settings, const LinearSystem& system, std::uint64_t seed) {
  return {system,
          {.sampling = settings.word("sampling") == "iid" ? Sampling::independent : Sampling::episodes,
           .episode_steps = settings.count("episode-steps"),
           .exploration_low = settings.number("exploration-low"),
           .exploration_high = settings.number("exploration-high"),
           .noise = settings.number("noise")},
          seed};
}

std::unique_ptr<PolicyEvaluation> make_evaluation(const RunConfig& config, std::size_t features) {
  const double discount = config.settings.number("gamma");
  if (config.settings.word("evaluation") == "rls-td") return make_rls_td(features, discount);
  const double horizon = config.settings.number("horizon");
  const Schedule schedule =
      horizon > 0 ? Schedule::robbins_monro(config.rate, horizon) : Schedule::constant(config.rate);
  return make_semi_gradient(features, discount, config.optimizer, schedule);
}

// Makes the updates before one improvement. Returns false if the run has diverged.
bool evaluate(PolicyIteration& iteration, std::uint64_t updates, double update_seconds, const std::atomic<bool>& stop) {
  const auto between_looks = static_cast<std::uint64_t>(1 + seconds_between_looks / update_seconds);
  while (updates > 0) {
    if (stop) throw Stopped();
    const std::uint64_t some = std::min(updates, between_looks);
    if (!iteration.evaluate(some)) return false;
    updates -= some;
  }
  return true;
}

class LqrTask final : public Task {
 public:
  std::string name() const override { return "lqr"; }
  std::string meaning() const override {
    return "Policy iteration on a linear system with quadratic rewards. The score is the Frobenius distance of the "
           "last policy to the best one. A run has diverged if a number is not finite, if three improvements in a row "
           "were rejected while the weights grew, or if the last one was rejected.";
  }
  std::span<const SettingKey> keys() const override { return lqr_keys(); }
  std::vector<Column> columns() const override {
    return {{"rejections", "improvements that were rejected, because the learned values were not those of any policy"}};
  }

  std::vector<std::string> faults(const Settings& settings) const override {
    std::vector<std::string> found = matrix_faults(settings);
    if (settings.number("exploration-low") > settings.number("exploration-high")) {
      found.emplace_back("exploration-low is above exploration-high");
    }
    if (!found.empty()) return found;
    found = ignd::faults(continuous_system(settings));
    if (!found.empty()) return found;
    try {
      const LinearSystem system = hold_actions(continuous_system(settings), settings.number("period"));
      optimal_policy(system, settings.number("gamma"));
    } catch (const InvalidArgument& fault) {
      found.emplace_back(fault.what());
    }
    return found;
  }

  double cost(const RunConfig& config) const override {
    const Settings& settings = config.settings;
    return update_seconds(settings) * static_cast<double>(settings.count("updates") * settings.count("improvements"));
  }

  static double update_seconds(const Settings& settings) {
    const ContinuousSystem system = continuous_system(settings);
    const auto signals = static_cast<double>(system.a.rows() + system.b.cols());
    const double features = signals * (signals + 1) / 2;
    const double noise = settings.number("noise") > 0 ? 1.3e-8 * signals : 0;
    const double fit = settings.word("evaluation") == "rls-td" ? 4e-10 * features * features : 1.2e-9 * features;
    return 1.4e-7 + noise + fit;
  }

  RunResult run(const RunConfig& config, const RunControl& control) const override {
    const Settings& settings = config.settings;
    const LinearSystem system = hold_actions(continuous_system(settings), settings.number("period"));
    const MatrixXd best = optimal_policy(system, settings.number("gamma"));
    Transitions transitions = make_transitions(settings, system, config.seed);
    const auto evaluation = make_evaluation(config, transitions.features().size());
    PolicyIteration iteration(transitions, *evaluation, initial_policy(settings, system, config.seed));

    RunResult result;
    const auto record = [&](std::uint64_t i) {
      result.x.push_back(static_cast<double>(i));
      result.y.push_back((best - iteration.policy()).norm());
    };
    record(0);
    const std::uint64_t improvements = settings.count("improvements");
    for (std::uint64_t i = 1; i <= improvements && result.status == RunStatus::finished; ++i) {
      control.set_share(static_cast<double>(i - 1) / static_cast<double>(improvements));
      bool healthy = evaluate(iteration, settings.count("updates"), update_seconds(settings), control.stop()) &&
                     iteration.improve();
      if (healthy) record(i);
      if (i == improvements) healthy = healthy && !iteration.last_was_rejected();
      if (healthy) continue;
      result.status = RunStatus::diverged;
      result.failed_at = i;
    }
    if (result.status == RunStatus::finished) result.score = result.y.back();
    result.extras = {{"rejections", static_cast<double>(iteration.rejections())}};
    return result;
  }
};

}  // namespace

const Task& lqr_task() {
  static const LqrTask task;
  return task;
}

}  // namespace ignd
