#include "lab/lqr_problem.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "ignd/schedule.hpp"
#include "rl/control_systems.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Kind = SettingKey::Kind;

SettingKey number_key(const char* name, const char* default_value, double low, double high, const char* meaning) {
  return {name, Kind::number, default_value, low, high, {}, meaning};
}
SettingKey count_key(const char* name, const char* default_value, double high, const char* meaning) {
  return {name, Kind::count, default_value, 1, high, {}, meaning};
}
SettingKey word_key(const char* name, std::vector<std::string> choices, std::string meaning) {
  const std::string default_value = choices.front();
  return {name, Kind::word, default_value, 0, 0, std::move(choices), std::move(meaning)};
}
SettingKey matrix_key(const char* name, const char* meaning) { return {name, Kind::matrix, "", 0, 0, {}, meaning}; }

SettingKey system_key() {
  std::vector<std::string> names;
  std::string meaning = "of the collection COMPleib:";
  for (const NamedSystem& one : named_systems()) {
    meaning += fmt::format("{} {}", names.empty() ? "" : ";", one.meaning);
    names.push_back(one.name);
  }
  names.emplace_back("own");
  return word_key("system", std::move(names), meaning + "; or own: the matrices a and b");
}

}  // namespace

const std::vector<SettingKey>& lqr_keys() {
  static const std::vector<SettingKey> keys{
      system_key(),
      matrix_key("a", "of system own: a row for each state"),
      matrix_key("b", "of system own: a row for each state and a column for each action"),
      word_key("time", {"continuous", "discrete"},
               "of system own: ds/dt = A s + B a with each action held for `period`, or s' = A s + B a"),
      matrix_key("q", "of the reward -(s'Qs + a'Ra); the identity if not given"),
      matrix_key("r", "of the reward -(s'Qs + a'Ra); the identity if not given"),
      number_key("period", "0.1", 1e-9, 1e9, "seconds for which an action is held, in continuous time"),
      number_key("gamma", "0.9", 0, 1, "the discount of a step"),
      number_key("noise", "0", 0, 1e9,
                 "standard deviation of the noise on each state; above 0, the features have a constant"),
      count_key("updates", "5000", 1e9, "updates of the values before each improvement of the policy"),
      count_key("improvements", "10", 1e6, "attempts to improve the policy"),
      number_key("tolerance", "1e-10", 0, 1,
                 "the run ends when an improvement changes the policy by at most this part of its size; 0: never"),
      word_key("accept", {"whole", "actions"},
               "an improvement needs values z'Mz with all of M negative definite, or with the actions' part alone, as "
               "in the paper"),
      count_key("episode-steps", "10", 1e6, "steps of an episode"),
      number_key("exploration-low", "-0.5", -20, 20,
                 "log10 of the smallest scale of an episode's initial state and exploring actions"),
      number_key("exploration-high", "0.5", -20, 20, "log10 of the largest"),
      word_key("initial-policy", {"zero", "random", "own"}, "K = 0, normal elements, or the matrix k0"),
      matrix_key("k0", "the initial K of a = K s, for initial-policy own: a row for each action"),
      number_key("initial-scale", "0.1", 0, 1e6, "standard deviation of a random initial policy's elements"),
      number_key("horizon", "0", 0, 1e12,
                 "updates after which the rate has halved, rate / (1 + t / horizon); 0: a constant rate"),
      word_key("sampling", {"episodes", "iid"},
               "along trajectories with exploring actions, or independent states and actions N(0, I)"),
      word_key("evaluation", {"td", "held-targets", "rls-td"},
               "semi-gradient steps of the optimizer; the same with targets held for `hold` updates, which also "
               "converge where the former do not; or recursive least squares, which has no rate"),
      count_key("hold", "100", 1e9, "updates for which held-targets keeps the weights that its targets are made of"),
  };
  return keys;
}

namespace {

MatrixXd to_matrix(const MatrixRows& rows) {
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  MatrixXd matrix(static_cast<Index>(rows.size()), static_cast<Index>(columns));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix(static_cast<Index>(i), static_cast<Index>(j)) = rows[i][j];
  }
  return matrix;
}

using AnySystem = std::variant<ContinuousSystem, LinearSystem>;

AnySystem described_system(const Settings& settings) {
  const NamedSystem* named = find_system(settings.word("system"));
  AnySystem system;
  if (named != nullptr) {
    system = named->system;
  } else {
    SystemMatrices own = with_unit_weights(to_matrix(settings.matrix("a")), to_matrix(settings.matrix("b")));
    if (settings.word("time") == "discrete") {
      system = LinearSystem{std::move(own)};
    } else {
      system = ContinuousSystem{std::move(own)};
    }
  }
  std::visit(
      [&](SystemMatrices& matrices) {
        if (const auto rows = settings.matrix("q"); !rows.empty()) matrices.q = to_matrix(rows);
        if (const auto rows = settings.matrix("r"); !rows.empty()) matrices.r = to_matrix(rows);
      },
      system);
  return system;
}

LinearSystem in_discrete_time(const AnySystem& system, double period) {
  if (const auto* continuous = std::get_if<ContinuousSystem>(&system)) return hold_actions(*continuous, period);
  return std::get<LinearSystem>(system);
}

bool is_ragged(const MatrixRows& rows) {
  return std::ranges::any_of(rows, [&](const auto& row) { return row.size() != rows[0].size(); });
}

// A matrix, or another setting, that is given where it has no meaning, or missing where it is needed.
std::vector<std::string> misplaced(const Settings& settings) {
  std::vector<std::string> found;
  const std::string& system = settings.word("system");
  const bool own = system == "own";
  for (const char* name : {"a", "b"}) {
    const bool given = !settings.matrix(name).empty();
    if (own && !given) found.push_back(fmt::format("system \"own\" needs the matrix {}", name));
    if (!own && given) {
      found.push_back(fmt::format("{} is given, but the system is '{}'; set system = \"own\"", name, system));
    }
  }
  if (!own && settings.word("time") == "discrete") {
    found.push_back(fmt::format("time is given, but the system '{}' has its own; set system = \"own\"", system));
  }
  const bool own_policy = settings.word("initial-policy") == "own";
  const bool k0_given = !settings.matrix("k0").empty();
  if (own_policy && !k0_given) found.emplace_back("initial-policy \"own\" needs the matrix k0");
  if (!own_policy && k0_given) found.emplace_back("k0 is given; set initial-policy = \"own\"");
  return found;
}

std::vector<std::string> faults_of_k0(const Settings& settings, const SystemMatrices& system) {
  if (settings.word("initial-policy") != "own") return {};
  const MatrixXd policy = to_matrix(settings.matrix("k0"));
  std::vector<std::string> found;
  if (policy.rows() != system.actions() || policy.cols() != system.states()) {
    found.push_back(fmt::format("k0 is {} x {}, but must be {} x {}: a row for each action and a column for each state",
                                policy.rows(), policy.cols(), system.actions(), system.states()));
  } else if (!policy.allFinite()) {
    found.emplace_back("k0 has a number that is not finite");
  }
  return found;
}

LqrProblem::Evaluation evaluation_of(const std::string& word) {
  if (word == "rls-td") return LqrProblem::Evaluation::least_squares;
  return word == "held-targets" ? LqrProblem::Evaluation::held_targets : LqrProblem::Evaluation::semi_gradient;
}

TransitionOptions sampling_of(const Settings& settings) {
  return {.sampling = settings.word("sampling") == "iid" ? Sampling::independent : Sampling::episodes,
          .episode_steps = settings.count("episode-steps"),
          .exploration_low = settings.number("exploration-low"),
          .exploration_high = settings.number("exploration-high"),
          .noise = settings.number("noise")};
}

}  // namespace

std::vector<std::string> LqrProblem::faults(const Settings& settings) {
  std::vector<std::string> found = misplaced(settings);
  for (const char* name : {"a", "b", "q", "r", "k0"}) {
    if (is_ragged(settings.matrix(name))) found.push_back(fmt::format("the rows of {} have different lengths", name));
  }
  if (settings.number("exploration-low") > settings.number("exploration-high")) {
    found.emplace_back("exploration-low is above exploration-high");
  }
  if (!found.empty()) return found;
  const AnySystem system = described_system(settings);
  found = std::visit([](const SystemMatrices& matrices) { return ignd::faults(matrices); }, system);
  if (!found.empty()) return found;
  found = std::visit([&](const SystemMatrices& matrices) { return faults_of_k0(settings, matrices); }, system);
  try {
    optimal_policy(in_discrete_time(system, settings.number("period")), settings.number("gamma"));
  } catch (const InvalidArgument& fault) {
    found.emplace_back(fault.what());
  }
  return found;
}

LqrProblem::LqrProblem(const Settings& settings)
    : system_(in_discrete_time(described_system(settings), settings.number("period"))),
      discount_(settings.number("gamma")),
      evaluation_(evaluation_of(settings.word("evaluation"))),
      acceptance_(settings.word("accept") == "actions" ? Acceptance::actions : Acceptance::whole),
      sampling_(sampling_of(settings)),
      horizon_(settings.number("horizon")),
      hold_(settings.count("hold")),
      updates_(settings.count("updates")),
      improvements_(settings.count("improvements")),
      tolerance_(settings.number("tolerance")) {
  const std::string& initial = settings.word("initial-policy");
  if (initial == "own") given_policy_ = to_matrix(settings.matrix("k0"));
  if (initial == "random") initial_scale_ = settings.number("initial-scale");
}

MatrixXd LqrProblem::initial_policy(std::uint64_t seed) const {
  if (given_policy_) return *given_policy_;
  MatrixXd policy = MatrixXd::Zero(system_.actions(), system_.states());
  if (initial_scale_ == 0) return policy;
  RandomStream stream(seed, "initial policy");
  for (double& element : policy.reshaped()) element = initial_scale_ * stream.normal();
  return policy;
}

std::unique_ptr<PolicyEvaluation> LqrProblem::make_evaluation(std::size_t features, const Optimizer& optimizer,
                                                              double rate) const {
  const Schedule schedule = horizon_ > 0 ? Schedule::robbins_monro(rate, horizon_) : Schedule::constant(rate);
  switch (evaluation_) {
    case Evaluation::least_squares:
      return make_rls_td(features, discount_);
    case Evaluation::held_targets:
      return make_held_targets(features, discount_, optimizer, schedule, hold_);
    case Evaluation::semi_gradient:
      break;
  }
  return make_semi_gradient(features, discount_, optimizer, schedule);
}

double LqrProblem::update_seconds() const {
  const auto signals = static_cast<double>(system_.states() + system_.actions());
  const double features = signals * (signals + 1) / 2;
  const double noise = sampling_.noise > 0 ? 1.3e-8 * signals : 0;
  const double fit = evaluation_ == Evaluation::least_squares ? 4e-10 * features * features : 1.2e-9 * features;
  return 1.4e-7 + noise + fit;
}

MatrixRows rows_of(const MatrixXd& matrix) {
  MatrixRows rows;
  for (Index i = 0; i < matrix.rows(); ++i) {
    rows.emplace_back();
    for (Index j = 0; j < matrix.cols(); ++j) rows.back().push_back(matrix(i, j));
  }
  return rows;
}

}  // namespace ignd
