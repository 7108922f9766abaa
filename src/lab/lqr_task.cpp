#include "lab/lqr_problem.hpp"
#include "lab/task.hpp"
#include "rl/mean_update.hpp"
#include "rl/policy_iteration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::MatrixXd;

constexpr double seconds_between_looks = 0.005;  // at the stop flag

// Makes the updates before one improvement. Returns false if the run has diverged.
bool evaluate(PolicyIteration& iteration, const LqrProblem& problem, const std::atomic<bool>& stop) {
  const auto between_looks = static_cast<std::uint64_t>(1 + seconds_between_looks / problem.update_seconds());
  for (std::uint64_t updates = problem.updates(); updates > 0;) {
    if (stop) throw Stopped();
    const std::uint64_t some = std::min(updates, between_looks);
    if (!iteration.evaluate(some)) return false;
    updates -= some;
  }
  return true;
}

// A semi-gradient step that is looked at before any run is made.
struct Judged {
  UpdateStability plain, normalised;
  bool good() const { return plain.stability == Stability::stable && normalised.stability == Stability::stable; }
};

constexpr std::size_t most_features_to_judge = 250;

// As many samples as take about a second.
std::size_t samples_to_judge_by(std::size_t features) {
  constexpr std::size_t most = 200'000;
  return std::min(most, 400'000'000 / (features * features));
}

Judged judge_policy(const LqrProblem& problem, const TransitionOptions& sampling, const MatrixXd& policy) {
  const auto normalised = [&](std::uint64_t seed) {
    Transitions transitions(problem.system(), sampling, seed);
    transitions.follow(policy);
    return normalised_update(transitions, samples_to_judge_by(transitions.features().size()));
  };
  const MeanUpdate plain = plain_update(problem.system(), sampling, policy);
  return {judge(plain, plain, problem.discount()), judge(normalised(1), normalised(2), problem.discount())};
}

std::string verdict(const UpdateStability& update) {
  switch (update.stability) {
    case Stability::stable:
      return "stable";
    case Stability::unstable:
      return fmt::format("unstable (slowest mode {:.2g})", update.slowest_mode);
    case Stability::unclear:
      break;
  }
  return "at the border of stability";
}

// Smaller discounts and shorter episodes that would do, as far as they were found.
std::vector<std::string> milder_settings(const LqrProblem& problem, const MatrixXd& policy, const Judged& judged) {
  std::vector<std::string> found;
  TransitionOptions short_episodes = problem.sampling();
  short_episodes.episode_steps = 1;
  const bool are_long = problem.sampling().sampling == Sampling::episodes && problem.sampling().episode_steps > 1;
  if (are_long && judge_policy(problem, short_episodes, policy).good()) found.emplace_back("episode-steps = 1");
  double discount = 1;
  for (const UpdateStability& update : {judged.plain, judged.normalised}) {
    if (update.stability == Stability::unstable) discount = std::min(discount, update.stable_discount.value_or(0));
  }
  if (discount > 0 && discount < 1) found.push_back(fmt::format("gamma = {}", discount));
  return found;
}

std::string advice_on(const LqrProblem& problem, const MatrixXd& policy, const char* which) {
  const Judged judged = judge_policy(problem, problem.sampling(), policy);
  if (judged.good()) return "";
  std::string text = fmt::format(
      "the mean semi-gradient step at the {} policy is {} for plain steps (QL) and {} for normalised ones (IGNDQ). "
      "Evaluation \"held-targets\" and \"rls-td\" have no such limit",
      which, verdict(judged.plain), verdict(judged.normalised));
  const auto milder = milder_settings(problem, policy, judged);
  if (!milder.empty()) text += fmt::format("; both steps are stable with {}", fmt::join(milder, " or with "));
  return text + ".";
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
    return {{"improvements", "improvements that were accepted; fewer where the policy has converged before"},
            {"rejections", "improvements that were rejected, because the learned values were not those of any policy"}};
  }

  std::vector<std::string> faults(const Settings& settings) const override { return LqrProblem::faults(settings); }

  std::vector<std::string> advice(const Settings& settings) const override {
    const LqrProblem problem(settings);
    const MatrixXd initial = problem.initial_policy(1);
    const double radius = discounted_radius(problem.system(), problem.discount(), initial);
    if (radius >= 1) {
      return {fmt::format(
          "the initial policy has no finite cost: sqrt(gamma) times the spectral radius of A + B K is {:.4g}, and must "
          "be below 1. Its values do not exist, so that no evaluation can learn them. Give a stabilising policy "
          "(initial-policy = \"own\" and k0), or a gamma below {:.3g}.",
          radius, problem.discount() / (radius * radius))};
    }
    const auto signals = static_cast<std::size_t>(problem.system().states() + problem.system().actions());
    const QuadraticFeatures features(signals, problem.sampling().noise > 0);
    if (problem.evaluation() != LqrProblem::Evaluation::semi_gradient || features.size() > most_features_to_judge) {
      return {};
    }
    std::vector<std::string> all{advice_on(problem, initial, "initial"),
                                 advice_on(problem, problem.best_policy(), "best")};
    std::erase(all, "");
    return all;
  }

  double cost(const RunConfig& config) const override {
    const LqrProblem problem(config.settings);
    return problem.update_seconds() * static_cast<double>(problem.updates() * problem.improvements());
  }

  RunResult run(const RunConfig& config, const RunControl& control) const override {
    const LqrProblem problem(config.settings);
    const MatrixXd best = problem.best_policy();
    Transitions transitions(problem.system(), problem.sampling(), config.seed);
    const auto evaluation = problem.make_evaluation(transitions.features().size(), config.optimizer, config.rate);
    PolicyIteration iteration(transitions, *evaluation, problem.initial_policy(config.seed), problem.acceptance());

    RunResult result;
    const auto record = [&] {
      result.x.push_back(static_cast<double>(iteration.improvements()));
      result.y.push_back((best - iteration.policy()).norm());
    };
    record();
    for (std::uint64_t i = 1; i <= problem.improvements() && result.status == RunStatus::finished; ++i) {
      control.set_share(static_cast<double>(i - 1) / static_cast<double>(problem.improvements()));
      const bool last = i == problem.improvements();
      const bool healthy = evaluate(iteration, problem, control.stop()) && iteration.improve() &&
                           !(last && iteration.last_was_rejected());
      if (!healthy) {
        result.status = RunStatus::diverged;
        result.failed_at = i;
      } else if (!iteration.last_was_rejected()) {
        record();
        if (problem.tolerance() > 0 && iteration.last_change() <= problem.tolerance()) break;
      }
    }
    if (result.status == RunStatus::finished) result.score = result.y.back();
    result.extras = {{"improvements", static_cast<double>(iteration.improvements())},
                     {"rejections", static_cast<double>(iteration.rejections())}};
    result.matrices = {{"K", rows_of(iteration.policy())}, {"best K", rows_of(best)}};
    return result;
  }
};

}  // namespace

const Task& lqr_task() {
  static const LqrTask task;
  return task;
}

}  // namespace ignd
