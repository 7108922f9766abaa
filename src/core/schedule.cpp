#include "ignd/schedule.hpp"

#include "base/spec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::min();

void require(bool holds, std::string_view message) {
  if (!holds) throw InvalidArgument(std::string(message));
}

}  // namespace

Schedule::Schedule(Kind kind, double rate, double horizon, std::uint64_t steps, double shape)
    : kind_(kind), rate_(rate), horizon_(horizon), steps_(steps), shape_(shape) {
  require(std::isfinite(rate) && rate >= 0, "the learning rate must be a finite number of at least 0");
}

Schedule Schedule::constant(double rate) { return {Kind::constant, rate, 0, 0, 0}; }

Schedule Schedule::robbins_monro(double rate, double horizon, double power) {
  require(std::isfinite(horizon) && horizon > 0, "the horizon of a robbins-monro schedule must be positive");
  require(std::isfinite(power) && power >= 0, "the power of a robbins-monro schedule must be at least 0");
  return {Kind::robbins_monro, rate, horizon, 0, power};
}

Schedule Schedule::cosine(double rate, std::uint64_t steps, double final_rate) {
  require(steps > 0, "a cosine schedule needs the number of steps it spans");
  require(std::isfinite(final_rate) && final_rate >= 0, "the final rate must be a finite number of at least 0");
  return {Kind::cosine, rate, 0, steps, final_rate};
}

Schedule Schedule::with_warmup(std::uint64_t steps) const {
  Schedule warmed = *this;
  warmed.warmup_ = steps;
  return warmed;
}

double Schedule::changing_rate(std::uint64_t t) const {
  const double elapsed = static_cast<double>(t - 1);
  double rate = rate_;
  if (kind_ == Kind::robbins_monro) {
    rate = rate_ / std::pow(1 + elapsed / horizon_, shape_);
  } else if (kind_ == Kind::cosine) {
    const double phase = std::min(elapsed / static_cast<double>(steps_), 1.0);
    rate = shape_ + (rate_ - shape_) * (1 + std::cos(std::numbers::pi * phase)) / 2;
  }
  return t < warmup_ ? rate * static_cast<double>(t) / static_cast<double>(warmup_) : rate;
}

std::string Schedule::spec() const {
  std::string text;
  if (kind_ == Kind::constant) {
    text = fmt::format("constant:rate={}", rate_);
  } else if (kind_ == Kind::robbins_monro) {
    text = fmt::format("robbins-monro:rate={},horizon={},power={}", rate_, horizon_, shape_);
  } else {
    text = fmt::format("cosine:rate={},steps={},final={}", rate_, steps_, shape_);
  }
  if (warmup_ > 0) text += fmt::format(",warmup={}", warmup_);
  return text;
}

Schedule Schedule::parse(std::string_view text) {
  Spec spec("schedule", text);
  if (!spec.name().empty() && std::string_view("0123456789.").find(spec.name()[0]) != std::string_view::npos) {
    return constant(parse_number(spec.text(), "the learning rate"));
  }
  return read(spec, spec.number("rate", 0.1, 0, largest), std::nullopt);
}

Schedule Schedule::for_run(std::string_view text, double rate, std::optional<std::uint64_t> steps) {
  Spec spec("schedule", text);
  if (!spec.word("rate", "").empty()) spec.add_fault("it has a rate of its own; give the rate as such");
  return read(spec, rate, steps);
}

Schedule Schedule::read(Spec& spec, double rate, std::optional<std::uint64_t> run_steps) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::string> known{"constant", "robbins-monro", "cosine"};
  if (std::find(known.begin(), known.end(), spec.name()) == known.end()) spec.refuse_name(known);

  Schedule schedule = constant(rate);
  if (spec.name() == "robbins-monro") {
    const double horizon = spec.number("horizon", 1000, smallest, largest);
    schedule = robbins_monro(rate, horizon, spec.number("power", 1, 0, largest));
  } else if (spec.name() == "cosine") {
    const std::uint64_t steps = spec.count("steps", run_steps.value_or(0), 1, most);
    if (steps == 0 && !run_steps) spec.add_fault("steps, the number of steps it spans, is missing");
    const double final_rate = spec.number("final", 0, 0, largest);
    schedule = cosine(rate, std::max<std::uint64_t>(steps, 1), final_rate);
  }
  schedule = schedule.with_warmup(spec.count("warmup", 0, 0, most));
  spec.finish();
  return schedule;
}

}  // namespace ignd
