#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "ignd/random.hpp"
#include "ignd/trainer.hpp"
#include "lab/stationarity.hpp"
#include "lab/task.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;

// What the curve shows, in the order of the setting's choices.
enum class Shown { average, gradient, bound, alignment, guarantee };

const std::vector<SettingKey>& stationarity_keys() {
  static const std::vector<SettingKey> keys{
      {"show",
       Kind::word,
       "average",
       0,
       0,
       {"average", "gradient", "bound", "alignment", "guarantee"},
       "average: of (grad L)^2, weighted by the rates, against log10 of steps; gradient: the mean of (grad L)^2 "
       "since the last point; bound: what the theorem's proof says that the average is at most, with the constants "
       "measured along the run; alignment: the smallest E g . E xi g / (E xi (E g)^2) at distance 1 from the "
       "optimum, "
       "against log10 of eps_LM over what the appendix's condition asks for; guarantee: what the appendix then "
       "guarantees of it, 0 if it guarantees nothing"},
      {"model",
       Kind::word,
       "linear",
       0,
       0,
       {"linear", "network"},
       "of two features: linear without a constant, or with eight tanh units"},
      {"loss", Kind::word, "squared", 0, 0, {}, "of one output"},
      {"samples", Kind::count, "50", 2, 10'000, {}, "of the data set; each step draws one of them"},
      {"spread", Kind::number, "0", 0, 3, {}, "the length of a sample is 10^U(-spread, spread)"},
      {"noise",
       Kind::number,
       "0",
       0,
       1000,
       {},
       "standard deviation of the targets around a teacher of the same kind; classes are drawn by its output / noise"},
      {"schedule", Kind::word, "constant", 0, 0, {}, "constant or robbins-monro, with options"},
      {"steps", Kind::count, "1000000", 100, 1e9, {}, "length of a run"},
  };
  return keys;
}

// The place of a setting's word among its choices.
std::size_t choice_number(const Settings& settings, const std::string& name) {
  const auto key = std::ranges::find(stationarity_keys(), name, &SettingKey::name);
  return static_cast<std::size_t>(std::ranges::find(key->choices, settings.word(name)) - key->choices.begin());
}

Shown shown(const Settings& settings) { return static_cast<Shown>(choice_number(settings, "show")); }

bool is_of_a_run(Shown what) { return what != Shown::alignment && what != Shown::guarantee; }

bool is_linear(const Settings& settings) { return choice_number(settings, "model") == 0; }

// Weights of a teacher are normal ones, those of a linear model that learns are 0.
std::unique_ptr<Model<double>> make_learner_model(const Settings& settings, std::uint64_t seed) {
  if (is_linear(settings)) return std::make_unique<Linear<double>>(2, false);
  return std::make_unique<Mlp<double>>(
      std::vector<std::size_t>{2, 8},
      MlpOptions{.activation = Activation::tanh, .seed = RandomStream(seed, "stationarity start").bits32()});
}

std::unique_ptr<Model<double>> make_teacher(const Settings& settings, std::uint64_t seed) {
  auto model = make_learner_model(settings, seed);
  RandomStream stream(seed, "stationarity teacher");
  for (double& w : model->parameters()) w = stream.normal();
  return model;
}

FiniteProblem problem_of(const Settings& settings, const Model<double>& teacher, std::uint64_t seed) {
  return draw_problem(make_loss(settings.word("loss")), teacher,
                      {.samples = settings.count("samples"),
                       .spread = settings.number("spread"),
                       .noise = settings.number("noise"),
                       .seed = seed});
}

// The exact moments at some steps of a run; each stands for the steps to the next.
struct Look {
  std::uint64_t step = 0;  // the one that is about to be taken
  double steps = 0;        // that it stands for
  double rate = 0;
  Moments at;
};

struct Recorded {
  std::vector<Look> looks;
  std::uint64_t failed_at = 0;  // 0: it finished
};

// Looks at every step at first, and then at steps that are a hundredth further.
std::uint64_t steps_to_next_look(std::uint64_t step) { return 1 + step / 100; }

Recorded record(const FiniteProblem& problem, Model<double>& model, const RunConfig& config, const Schedule& schedule,
                const RunControl& control) {
  const auto rule = make_step_rule(config.optimizer.rule);
  Trainer<double> trainer(model, {.loss = problem.loss, .optimizer = config.optimizer, .schedule = schedule});
  RandomStream draws(config.seed, "stationarity draws");
  const std::uint64_t steps = config.settings.count("steps");
  Recorded run;
  for (std::uint64_t t = 1, next = 1; t <= steps; ++t) {
    if (t == next) {
      if (control.stop()) throw Stopped();
      next = std::min(steps + 1, t + steps_to_next_look(t));
      run.looks.push_back({t, static_cast<double>(next - t), schedule.rate(t), moments_of(problem, model, *rule)});
    }
    const std::size_t i = draws.below(problem.x.size());
    if (trainer.step({{problem.x[i]}, problem.y[i]}).status != StepStatus::learned) {
      run.failed_at = t;
      return run;
    }
  }
  return run;
}

// Sums over the steps up to a look, that one included.
struct Sums {
  double rates = 0, weighted = 0;
  void add(const Look& look) {
    rates += look.steps * look.rate;
    weighted += look.steps * look.rate * look.at.gradient_square();
  }
};

class Mean {
 public:
  void add(double number, double weight) { sum_ += number * weight, weight_ += weight; }
  double value() const { return sum_ / weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

// The constants of the theorem's assumption and of the appendix's condition, as a run has them.
struct Constants {
  double mu = std::numeric_limits<double>::infinity();
  MomentBound moments;
  SufficientCondition condition;
};

Constants constants_of(const std::vector<Look>& looks, double eps_c) {
  Constants found;
  std::vector<double> squares, scaled_squares;
  double sensitive = 0, curved = 0;
  // Below this share of where it began, a gradient is the rounding of its samples' gradients.
  constexpr double rounding = 1e-24;
  const double least = rounding * looks.front().at.gradient_square();
  for (const auto& [step, steps, rate, at] : looks) {
    const double square = at.gradient_square();
    sensitive = std::max(sensitive, at.most_sensitive);
    curved = std::max(curved, at.most_curved);
    squares.push_back(square);
    scaled_squares.push_back(at.scaled_square);
    if (!(square > least)) continue;
    found.mu = std::min(found.mu, at.alignment());
    found.condition.growth = std::max(found.condition.growth, at.square / square);
  }
  found.moments = moment_bound(squares, scaled_squares);
  found.condition.curvature = (curved + eps_c) * sensitive;
  return found;
}

// What the proof bounds the weighted average by. It sums the descent lemma over the steps from T_0 on, where L / 2
// alpha M_2 <= mu / 2; the steps before count as they are. Losses are at least 0, and so is their infimum.
class ProofBound {
 public:
  ProofBound(const Constants& constants, double smoothness) : constants_(constants), smoothness_(smoothness) {}

  double after(const Look& look) {
    sums_.add(look);
    const double weighted = look.steps * look.rate * look.at.gradient_square();
    if (begun_ || smoothness_ * look.rate * constants_.moments.m2 <= constants_.mu) {
      if (!begun_) value_ = look.at.value;
      begun_ = true;
      squared_rates_ += look.steps * look.rate * look.rate;
    } else {
      before_ += weighted;
    }
    const double after = 2 / constants_.mu * (value_ + smoothness_ / 2 * constants_.moments.m0 * squared_rates_);
    return (before_ + after) / sums_.rates;
  }

 private:
  Constants constants_;
  double smoothness_;
  Sums sums_;
  bool begun_ = false;  // T_0 has come
  double value_ = 0, squared_rates_ = 0, before_ = 0;
};

bool is_point(std::uint64_t step, std::uint64_t next) {
  constexpr double per_decade = 10;
  const auto place = [](std::uint64_t t) { return std::floor(per_decade * std::log10(static_cast<double>(t)) + 1e-9); };
  return place(next) > place(step);
}

// Of l_ff over f, for the losses whose second derivative is bounded.
double largest_curvature(const Loss& loss) {
  double largest = 0;
  constexpr int steps = 2000;
  for (int k = -steps; k <= steps; ++k) largest = std::max(largest, loss.at(0, k / 100.0).d2);
  return largest;
}

// The curve of a run, and the numbers beside it.
RunResult describe_run(const Settings& settings, const std::vector<Look>& looks, const Constants& constants,
                       ProofBound bound) {
  const Shown what = shown(settings);
  RunResult result;
  Sums sums;
  Mean last, since_point;
  double least = std::numeric_limits<double>::infinity();
  for (const Look& look : looks) {
    const double square = look.at.gradient_square(), proved = bound.after(look);
    sums.add(look);
    least = std::min(least, square);
    since_point.add(square, look.steps);
    if (10 * look.step > 9 * settings.count("steps")) last.add(square, look.steps);
    const std::uint64_t next = look.step + static_cast<std::uint64_t>(look.steps);
    if (!is_point(look.step, next) && &look != &looks.back()) continue;
    result.x.push_back(std::log10(static_cast<double>(next - 1)));
    const double average = sums.weighted / sums.rates, mean = std::exchange(since_point, {}).value();
    result.y.push_back(what == Shown::bound ? proved : what == Shown::gradient ? mean : average);
  }
  result.score = result.y.back();
  result.extras = {{"last", last.value()},
                   {"least", least},
                   {"mu", constants.mu},
                   {"m0", constants.moments.m0},
                   {"m2", constants.moments.m2},
                   {"growth", constants.condition.growth},
                   {"needed", constants.condition.least_damping()}};
  return result;
}

RunResult run_steps(const RunConfig& config, const RunControl& control) {
  const Settings& settings = config.settings;
  const auto teacher = make_teacher(settings, config.seed);
  const FiniteProblem problem = problem_of(settings, *teacher, config.seed);
  const auto model = make_learner_model(settings, config.seed);
  const Schedule schedule = Schedule::for_run(settings.word("schedule"), config.rate, settings.count("steps"));
  const Recorded run = record(problem, *model, config, schedule, control);
  const auto failed = [](std::uint64_t at) {
    RunResult result;
    result.status = RunStatus::diverged;
    result.failed_at = at;
    return result;
  };
  if (run.failed_at > 0) return failed(run.failed_at);
  const auto damping = make_step_rule(config.optimizer.rule)->damping();
  const double eps_c = damping ? damping->eps_c.value_or(problem.loss->curvature_floor()) : 0;
  const Constants constants = constants_of(run.looks, eps_c);
  // Without alignment the theorem bounds nothing.
  if (shown(settings) == Shown::bound && !(constants.mu > 0)) return failed(0);
  const double smoothness = largest_curvature(*problem.loss) * largest_second_moment(problem);
  return describe_run(settings, run.looks, constants, {constants, smoothness});
}

using Models = std::vector<std::unique_ptr<Model<double>>>;

// Models on a circle around the teacher, the optimum of targets without noise.
Models circle_around(const Model<double>& teacher) {
  Models models;
  constexpr int directions = 720;
  for (int k = 0; k < directions; ++k) {
    const double angle = 2 * std::numbers::pi * k / directions;
    models.push_back(teacher.clone());
    models.back()->parameters()[0] += std::cos(angle);
    models.back()->parameters()[1] += std::sin(angle);
  }
  return models;
}

SufficientCondition condition_on(const FiniteProblem& problem, const Models& models, const StepRule& rule) {
  SufficientCondition condition;
  double sensitive = 0, curved = 0;
  for (const auto& model : models) {
    const Moments at = moments_of(problem, *model, rule);
    sensitive = std::max(sensitive, at.most_sensitive);
    curved = std::max(curved, at.most_curved);
    condition.growth = std::max(condition.growth, at.square / at.gradient_square());
  }
  const double eps_c = rule.damping()->eps_c.value_or(problem.loss->curvature_floor());
  condition.curvature = (curved + eps_c) * sensitive;
  return condition;
}

// The smallest alignment of the models, as a multiple of E xi; or what the condition guarantees of it.
double worst_alignment(const FiniteProblem& problem, const Models& models, const StepRule& rule,
                       std::optional<double> guaranteed) {
  double worst = std::numeric_limits<double>::infinity();
  for (const auto& model : models) {
    const Moments at = moments_of(problem, *model, rule);
    worst = std::min(worst, guaranteed.value_or(at.alignment()) / at.scale);
  }
  return worst;
}

RunResult run_alignment(const RunConfig& config, const RunControl& control) {
  const auto teacher = make_teacher(config.settings, config.seed);
  const FiniteProblem problem = problem_of(config.settings, *teacher, config.seed);
  const Models models = circle_around(*teacher);
  const SufficientCondition condition = condition_on(problem, models, *make_step_rule(config.optimizer.rule));
  RunResult result;
  constexpr int first = -12, last = 4;  // half decades around the condition
  for (int half = first; half <= last; ++half) {
    if (control.stop()) throw Stopped();
    const double eps_lm = std::pow(10, half / 2.0) * condition.least_damping();
    const auto rule = make_step_rule(with_option(config.optimizer.rule, "eps_lm", format_number(eps_lm)));
    std::optional<double> guaranteed;
    if (shown(config.settings) == Shown::guarantee) guaranteed = std::max(0.0, condition.alignment(eps_lm));
    result.x.push_back(half / 2.0);
    result.y.push_back(worst_alignment(problem, models, *rule, guaranteed));
    if (half == 2) result.score = result.y.back();
  }
  result.extras = {
      {"least", std::ranges::min(result.y)}, {"growth", condition.growth}, {"needed", condition.least_damping()}};
  return result;
}

class StationarityTask final : public Task {
 public:
  std::string name() const override { return "stationarity"; }
  std::string meaning() const override {
    return "The paper's stationarity theorem on a data set so small that grad L and the expectations over a sample are "
           "exact. A run takes steps on samples drawn independently. Its moments are computed at each of the first "
           "hundred steps and then at every hundredth part of the way. The score is the last point of the curve, for "
           "alignment and guarantee that where eps_LM is ten times what the condition asks for.";
  }
  std::span<const SettingKey> keys() const override { return stationarity_keys(); }
  std::vector<Column> columns() const override {
    return {{"last", "mean of (grad L)^2 over the last tenth of the steps"},
            {"least", "the smallest (grad L)^2, or the smallest point of an alignment's curve"},
            {"mu", "smallest E g . E xi g / (E g)^2 along the run"},
            {"m0", "M_0 of the lowest bound E (xi g)^2 <= M_0 + M_2 (E g)^2 that holds along the run"},
            {"m2", "its M_2"},
            {"growth", "rho, the largest E g^2 / (E g)^2 along the run"},
            {"needed", "the eps_LM above which the appendix guarantees mu > 0"}};
  }
  std::vector<std::string> faults(const Settings& settings) const override {
    std::vector<std::string> found;
    try {
      const Link link = make_loss(settings.word("loss"))->link();
      if (link == Link::log) found.emplace_back("the teacher has outputs below 0, which are no targets of this loss");
      if (link == Link::logit && !is_of_a_run(shown(settings))) {
        found.emplace_back("classes without noise have no optimum to measure an alignment around");
      }
    } catch (const InvalidArgument& fault) {
      found.emplace_back(fault.what());
    }
    try {
      Schedule::for_run(settings.word("schedule"), 1, 1);
    } catch (const InvalidArgument& fault) {
      found.emplace_back(fault.what());
    }
    const Shown what = shown(settings);
    if (what != Shown::average && what != Shown::gradient && !is_linear(settings)) {
      found.emplace_back("of a network, only average and gradient: its smoothness and its optimum are not known");
    }
    if (!is_of_a_run(what) && settings.number("noise") > 0) {
      found.emplace_back("an alignment is measured around an optimum that all samples share, so without noise");
    }
    return found;
  }
  double cost(const RunConfig& config) const override {
    const double step_seconds = is_linear(config.settings) ? 2e-7 : 6e-7;
    return step_seconds * static_cast<double>(config.settings.count("steps"));
  }
  RunResult run(const RunConfig& config, const RunControl& control) const override {
    const auto rule = make_step_rule(config.optimizer.rule);
    if (rule->memory() > 0 || !config.optimizer.has_plain_transform()) {
      throw InvalidArgument(fmt::format("the theorem is about plain steps of a rule without memory, not about {} + {}",
                                        config.optimizer.rule, config.optimizer.transform));
    }
    if (is_of_a_run(shown(config.settings))) return run_steps(config, control);
    if (!rule->damping()) {
      throw InvalidArgument(fmt::format("the rule {} has no damping to vary", config.optimizer.rule));
    }
    return run_alignment(config, control);
  }
};

}  // namespace

const Task& stationarity_task() {
  static const StationarityTask task;
  return task;
}

}  // namespace ignd
