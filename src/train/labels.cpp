#include "train/labels.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

void LabelSurvey::note(double label) {
  if (!std::isfinite(label)) return;
  ++labels_;
  const auto place = std::ranges::lower_bound(distinct_, label);
  const bool known = place != distinct_.end() && *place == label;
  if (!known && distinct_.size() < 3) distinct_.insert(place, label);
}

std::string LabelSurvey::text() const {
  switch (distinct_.size()) {
    case 0:
      return "missing";
    case 1:
      return "all " + format_number(distinct_[0]);
    case 2:
      return format_number(distinct_[0]) + " and " + format_number(distinct_[1]);
    default:
      return "more than two numbers";
  }
}

Classes::Classes(const std::vector<double>& labels) {
  if (labels.size() > 1) {
    negative_ = labels[0];
    positive_ = labels[1];
  } else if (labels.size() == 1) {
    (labels[0] <= 0 ? negative_ : positive_) = labels[0];
  }
}

double Classes::label_of(bool positive) const {
  const double label = positive ? positive_ : negative_;
  return std::isnan(label) ? positive ? negative_ : positive_ : label;
}

double Classes::number_of(double label) {
  if (label == negative_) return 0;
  if (label == positive_) return 1;
  const bool finite = std::isfinite(label);
  if (finite && std::isnan(negative_) && !(label >= positive_)) {
    negative_ = label;
    return 0;
  }
  if (finite && std::isnan(positive_) && label > negative_) {
    positive_ = label;
    return 1;
  }
  throw BadSample(fmt::format("the label is {}, but the classes are {} and {}; correct it, or give the squared loss",
                              label, negative_, positive_));
}

}  // namespace ignd
