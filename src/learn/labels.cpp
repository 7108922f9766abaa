#include "learn/labels.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {

namespace {

std::string shown(double label, const LabelName& name) { return name ? in_quotes(name(label)) : format_number(label); }

}  // namespace

void LabelSurvey::note(double label) {
  if (!std::isfinite(label)) return;
  ++labels_;
  const auto place = std::ranges::lower_bound(distinct_, label);
  const bool known = place != distinct_.end() && *place == label;
  if (!known && distinct_.size() < 3) distinct_.insert(place, label);
}

std::string LabelSurvey::text(const LabelName& name) const {
  switch (distinct_.size()) {
    case 0:
      return "missing";
    case 1:
      return "all " + shown(distinct_[0], name);
    case 2: {
      const Classes classes(distinct_, name);
      return shown(classes.negative(), name) + " and " + shown(classes.positive(), name);
    }
    default:
      return name ? "more than two texts" : "more than two numbers";
  }
}

Classes::Classes(const std::vector<double>& labels, const LabelName& name) {
  if (labels.size() > 1) {
    negative_ = labels[0];
    positive_ = labels[1];
    if (name && name(positive_) < name(negative_)) std::swap(negative_, positive_);
  } else if (labels.size() == 1) {
    (labels[0] <= 0 ? negative_ : positive_) = labels[0];
  }
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

}  // namespace ignd
