#include "learn/stream_targets.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/centring.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

double number_in(const Checkpoint& checkpoint, const char* name) { return checkpoint.array<double>(name, 1)[0]; }

void set_number(Checkpoint& checkpoint, const char* name, double value) {
  checkpoint.set(name, std::span<const double>(&value, 1));
}

}  // namespace

Classes::Classes(const std::vector<double>& labels, const LabelName& name) {
  if (labels.size() > 1) {
    negative_ = labels[0];
    positive_ = labels[1];
    if (!is_negative_of(negative_, positive_, name)) std::swap(negative_, positive_);
  } else if (labels.size() == 1) {
    (labels[0] <= 0 ? negative_ : positive_) = labels[0];
  }
}

std::string Classes::shown(double label, const LabelName& name) {
  return name ? in_quotes(name(label)) : format_number(label);
}

double Classes::label_of(bool positive) const {
  const double label = positive ? positive_ : negative_;
  return std::isnan(label) ? positive ? negative_ : positive_ : label;
}

bool Classes::complete() const { return !std::isnan(negative_) && !std::isnan(positive_); }

double Classes::number_of(double label, const LabelName& name) {
  if (label == negative_) return 0;
  if (label == positive_) return 1;
  const bool finite = std::isfinite(label);
  if (finite && std::isnan(negative_) && (name || !(label >= positive_))) {
    negative_ = label;
    return 0;
  }
  if (finite && std::isnan(positive_) && (name || label > negative_)) {
    positive_ = label;
    return 1;
  }
  throw BadSample(fmt::format("the label is {}, but the classes are {} and {}; {}", shown(label, name),
                              shown(negative_, name), shown(positive_, name),
                              name ? "no more than two can be learned" : "correct it, or give the squared loss"));
}

void Classes::save(Checkpoint& checkpoint) const {
  set_number(checkpoint, "learner.class.negative", negative_);
  set_number(checkpoint, "learner.class.positive", positive_);
}

Classes Classes::load(const Checkpoint& checkpoint) {
  Classes loaded;
  loaded.negative_ = number_in(checkpoint, "learner.class.negative");
  loaded.positive_ = number_in(checkpoint, "learner.class.positive");
  return loaded;
}

TargetRange TargetRange::with(double y) const {
  TargetRange next = *this;
  if (seen >= first_look) return next;
  ++next.seen;
  if (moves) next.offset += (y - offset) / static_cast<double>(next.seen);
  // Until the first target that differs from the offset all weights are zero: no prediction changes.
  const double distance = std::abs(y - next.offset);
  if (stretches && !has_scale && distance > 0 && std::isfinite(distance)) {
    next.has_scale = true;
    next.scale = std::exp2(std::floor(std::log2(distance)));
  }
  return next;
}

void TargetRange::save(Checkpoint& checkpoint) const {
  set_number(checkpoint, "learner.target.offset", offset);
  set_number(checkpoint, "learner.target.scale", scale);
  checkpoint.set("learner.target.has-scale", std::uint64_t{has_scale});
  checkpoint.set("learner.target.seen", seen);
}

void TargetRange::restore(const Checkpoint& checkpoint) {
  const double saved_offset = number_in(checkpoint, "learner.target.offset");
  const double saved_scale = number_in(checkpoint, "learner.target.scale");
  if (!std::isfinite(saved_offset) || !std::isfinite(saved_scale)) {
    throw FileError("the scale of its target is not finite");
  }
  offset = saved_offset;
  scale = saved_scale;
  has_scale = checkpoint.number("learner.target.has-scale") != 0;
  seen = checkpoint.number("learner.target.seen");
}

}  // namespace ignd
