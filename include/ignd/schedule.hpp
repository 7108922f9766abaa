#pragma once

#include "ignd/api.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ignd {

class Spec;

// The learning rate alpha_t of step t = 1, 2, ...: a pure function, so that a run can be resumed at any step.
class IGND_API Schedule {
 public:
  static Schedule constant(double rate);
  // rate / (1 + (t - 1) / horizon)^power; 1/2 < power <= 1 satisfies the Robbins-Monro conditions.
  static Schedule robbins_monro(double rate, double horizon, double power = 1);
  // From rate down to `final_rate` along half a cosine, over `steps` steps; constant from there.
  static Schedule cosine(double rate, std::uint64_t steps, double final_rate = 0);
  // The same, multiplied by t / steps during the first `steps` steps.
  Schedule with_warmup(std::uint64_t steps) const;

  // "constant:rate=0.1", "robbins-monro:rate=1,horizon=1000,power=0.6", "cosine:rate=0.1,steps=5000,final=0"; each
  // with an optional "warmup=N". A plain number is a constant rate. Throws InvalidArgument otherwise.
  static Schedule parse(std::string_view spec);
  // The same for a run whose rate is given apart, so that the spec has none. Unless the spec has steps, a cosine spans
  // those of the run; a run of unknown length needs them there.
  static Schedule for_run(std::string_view spec, double rate, std::optional<std::uint64_t> steps);
  std::string spec() const;

  double rate(std::uint64_t t) const { return is_constant_from(t) ? rate_ : changing_rate(t); }
  double largest_rate() const { return kind_ == Kind::cosine && shape_ > rate_ ? shape_ : rate_; }
  bool is_constant_from(std::uint64_t t) const { return kind_ == Kind::constant && t >= warmup_; }

 private:
  enum class Kind { constant, robbins_monro, cosine };
  Schedule(Kind kind, double rate, double horizon, std::uint64_t steps, double shape);
  static Schedule read(Spec& spec, double rate, std::optional<std::uint64_t> steps);
  double changing_rate(std::uint64_t t) const;

  Kind kind_;
  double rate_;
  double horizon_;
  std::uint64_t steps_;
  double shape_;  // power or final rate
  std::uint64_t warmup_ = 0;
};

}  // namespace ignd
