#include "bindings.hpp"
#include "ignd/aligned.hpp"
#include "ignd/error.hpp"
#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "rl/control_systems.hpp"
#include "rl/linear_system.hpp"
#include "rl/policy_evaluation.hpp"
#include "rl/policy_iteration.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <Eigen/Core>
#include <nanobind/eigen/dense.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

// Linear-quadratic control: the tool's own policy iteration, for transitions that Python brings along.
namespace ignd_python {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using ignd::InvalidArgument;
using ignd::LinearSystem;
using ignd::PolicyEvaluation;

using Matrices = std::tuple<MatrixXd, MatrixXd, MatrixXd, MatrixXd>;

Matrices matrices_of(ignd::SystemMatrices system) {
  return {std::move(system.a), std::move(system.b), std::move(system.q), std::move(system.r)};
}

std::map<std::string, std::string> system_names() {
  std::map<std::string, std::string> names;
  for (const ignd::NamedSystem& named : ignd::named_systems()) names[named.name] = named.meaning;
  return names;
}

Matrices named_system(const std::string& name, double period) {
  const ignd::NamedSystem* named = ignd::find_system(name);
  if (named == nullptr) throw InvalidArgument("there is no system '" + name + "'; system_names() lists them");
  if (const auto* discrete = std::get_if<LinearSystem>(&named->system)) return matrices_of(*discrete);
  return matrices_of(ignd::hold_actions(std::get<ignd::ContinuousSystem>(named->system), period));
}

Matrices held_system(MatrixXd a, MatrixXd b, MatrixXd q, MatrixXd r, double period) {
  return matrices_of(ignd::hold_actions({{std::move(a), std::move(b), std::move(q), std::move(r)}}, period));
}

LinearSystem checked(MatrixXd a, MatrixXd b, MatrixXd q, MatrixXd r) {
  LinearSystem system{{std::move(a), std::move(b), std::move(q), std::move(r)}};
  const auto faults = ignd::faults(system);
  if (!faults.empty()) throw InvalidArgument(faults.front());
  return system;
}

std::unique_ptr<PolicyEvaluation> make_evaluation(const std::string& kind, std::size_t features, double discount,
                                                  const ignd::Optimizer& optimizer, const std::string& schedule,
                                                  std::uint64_t hold) {
  if (kind == "rls-td") return ignd::make_rls_td(features, discount);
  const ignd::Schedule rates = ignd::Schedule::parse(schedule);
  if (kind == "td") return ignd::make_semi_gradient(features, discount, optimizer, rates);
  if (kind == "held-targets") return ignd::make_held_targets(features, discount, optimizer, rates, hold);
  throw InvalidArgument("there is no evaluation '" + kind + "'; choose td, held-targets or rls-td");
}

ignd::Acceptance acceptance_named(const std::string& name) {
  if (name == "whole") return ignd::Acceptance::whole;
  if (name == "actions") return ignd::Acceptance::actions;
  throw InvalidArgument("an improvement can be accepted by the 'whole' of M or by its 'actions', not by '" + name +
                        "'");
}

// The values z'Mz of a linear policy, learned from transitions that are handed over one at a time.
class PolicyValues {
 public:
  PolicyValues(MatrixXd policy, bool constant, double discount, const std::string& kind, const std::string& rule,
               const std::string& transform, const std::string& schedule, std::uint64_t hold,
               const std::string& acceptance)
      : states_(policy.cols()),
        actions_(policy.rows()),
        features_(signals_of(policy), constant),
        evaluation_(make_evaluation(kind, features_.size(), discount, {rule, transform}, schedule, hold)),
        improvement_(features_, *evaluation_, std::move(policy), acceptance_named(acceptance)),
        signals_(features_.signals() + spare),
        x_(features_.size() + spare),
        next_x_(features_.size() + spare) {
    if (!(discount >= 0 && discount <= 1)) throw InvalidArgument("gamma must be from 0 to 1");
    if (!improvement_.policy().allFinite()) throw InvalidArgument("the policy has a number that is not finite");
  }

  // After the end of a task there is nothing to gain: its features are zeros.
  bool update(const VectorXd& state, const VectorXd& action, double reward, const VectorXd& after,
              const VectorXd& next_action, bool terminated) {
    write(state, action, x_);
    if (terminated) {
      std::ranges::fill(next_x_, 0.0);
    } else {
      write(after, next_action, next_x_);
    }
    const std::size_t size = features_.size();
    return evaluation_->update({{x_.data(), size}, reward, {next_x_.data(), size}});
  }

  double value(const VectorXd& state, const VectorXd& action) {
    write(state, action, x_);
    const auto w = evaluation_->weights();
    double sum = 0;
    for (std::size_t k = 0; k < w.size(); ++k) sum += w[k] * x_[k];
    return sum;
  }

  bool improve() { return improvement_.improve(); }
  const ignd::PolicyImprovement& improvement() const { return improvement_; }

 private:
  static constexpr std::size_t spare = 8;  // numbers at the end of arrays, for those who work on whole vectors

  static std::size_t signals_of(const MatrixXd& policy) {
    const Index signals = policy.rows() + policy.cols();
    if (policy.rows() < 1 || policy.cols() < 1 || signals > ignd::most_signals) {
      throw InvalidArgument("states and actions must be numbers, one of each at least and " +
                            std::to_string(ignd::most_signals) + " together at most, but there are " +
                            std::to_string(policy.cols()) + " and " + std::to_string(policy.rows()));
    }
    return static_cast<std::size_t>(signals);
  }

  void write(const VectorXd& state, const VectorXd& action, ignd::AlignedVector<double>& x) {
    if (state.size() != states_ || action.size() != actions_) {
      throw InvalidArgument("a transition has " + std::to_string(state.size()) + " states and " +
                            std::to_string(action.size()) + " actions, but the policy " + std::to_string(states_) +
                            " and " + std::to_string(actions_));
    }
    std::ranges::copy(state, signals_.begin());
    std::ranges::copy(action, signals_.begin() + states_);
    features_.write(signals_.data(), 0, x.data());
  }

  Index states_, actions_;
  ignd::QuadraticFeatures features_;
  std::unique_ptr<PolicyEvaluation> evaluation_;
  ignd::PolicyImprovement improvement_;
  ignd::AlignedVector<double> signals_, x_, next_x_;
};

}  // namespace

void bind_control(nb::module_& module) {
  using nb::arg;
  module.def("system_names", &system_names, "The systems that are known by name, and what they are.");
  module.def("named_system", &named_system, arg("name"), arg("period"), "A, B, Q and R in discrete time.");
  module.def("held_system", &held_system, arg("a"), arg("b"), arg("q"), arg("r"), arg("period"),
             "The same of ds/dt = A s + B a, each action held for a period.");
  module.def(
      "check_system",
      [](MatrixXd a, MatrixXd b, MatrixXd q, MatrixXd r) {
        return matrices_of(checked(std::move(a), std::move(b), std::move(q), std::move(r)));
      },
      arg("a"), arg("b"), arg("q"), arg("r"), "Raises InvalidArgument unless the matrices make a system.");
  module.def(
      "optimal_policy",
      [](MatrixXd a, MatrixXd b, MatrixXd q, MatrixXd r, double discount) {
        return ignd::optimal_policy(checked(std::move(a), std::move(b), std::move(q), std::move(r)), discount);
      },
      arg("a"), arg("b"), arg("q"), arg("r"), arg("gamma"));

  nb::class_<PolicyValues>(module, "PolicyValues", "The values of a linear policy, learned from transitions.")
      .def(nb::init<MatrixXd, bool, double, const std::string&, const std::string&, const std::string&,
                    const std::string&, std::uint64_t, const std::string&>(),
           arg("policy"), arg("constant"), arg("gamma"), arg("evaluation"), arg("rule"), arg("transform"),
           arg("schedule"), arg("hold"), arg("accept"))
      .def("update", &PolicyValues::update, arg("state"), arg("action"), arg("reward"), arg("after"),
           arg("next_action"), arg("terminated"),
           "Learns a transition. False from the first number that is not finite.")
      .def("improve", &PolicyValues::improve, "Makes the policy greedy. False once the values have diverged.")
      .def("value", &PolicyValues::value, arg("state"), arg("action"))
      .def_prop_ro("policy", [](const PolicyValues& values) { return values.improvement().policy(); })
      .def_prop_ro(
          "matrix", [](const PolicyValues& values) { return values.improvement().values(); },
          "M of the values z'Mz of states and actions.")
      .def_prop_ro("improvements", [](const PolicyValues& values) { return values.improvement().improvements(); })
      .def_prop_ro("rejections", [](const PolicyValues& values) { return values.improvement().rejections(); })
      .def_prop_ro("last_change", [](const PolicyValues& values) { return values.improvement().last_change(); });
}

}  // namespace ignd_python
