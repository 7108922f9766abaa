#include "learn/coefficients.hpp"

#include "base/text.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

using Form = ColumnCode::Form;

bool is_linear(const Model<float>& model) {
  if (dynamic_cast<const Linear<float>*>(&model) != nullptr) return true;
  const auto* network = dynamic_cast<const Mlp<float>*>(&model);
  return network != nullptr && network->widths().size() == 1;
}

// Takes the weights of the features one after the other, as the encoder writes them, to the units of their columns.
class LinearReader {
 public:
  LinearReader(const Target& target, const Model<float>& model)
      : weights_(model.parameters()), outputs_(model.outputs()), scale_(target.is_class() ? 1 : target.deviation) {
    // Both kinds of linear models store the weights of a feature side by side, and the biases last.
    form_.unit = target.is_class() ? "log-odds" : target.logarithm ? "log of the mean" : "prediction";
    form_.intercept = values(weights_.last(outputs_));
    if (!target.is_class() && !target.logarithm) form_.intercept[0] += target.mean;
  }

  LinearForm read(const Encoder& encoder) {
    for (const ColumnCode& code : encoder.columns()) {
      if (code.form == Form::dropped) continue;
      if (code.form == Form::scaled) read_number(code);
      if (code.form == Form::date) read_date(code);
      if (code.form == Form::one_hot || code.form == Form::hashed) read_texts(code);
      if (code.missing > 0) add(code, "is missing", missing());
    }
    return std::move(form_);
  }

 private:
  using Values = std::vector<double>;

  Values values(std::span<const float> weights) const {
    Values made(weights.begin(), weights.end());
    for (double& value : made) value *= scale_;
    return made;
  }
  Values next() { return values(weights_.subspan(outputs_ * feature_++, outputs_)); }

  void add(const ColumnCode& code, std::string part, Values values) {
    form_.coefficients.push_back({code.name, std::move(part), std::move(values)});
  }
  static Values times(Values values, double factor) {
    for (double& value : values) value *= factor;
    return values;
  }
  void add_to_intercept(const Values& values, double factor) {
    for (std::size_t k = 0; k < values.size(); ++k) form_.intercept[k] += factor * values[k];
  }

  // A feature (x - mean) / deviation: the slope for one unit of x.
  Values slope(const Values& weight, double mean, double deviation) {
    add_to_intercept(weight, -mean / deviation);
    return times(weight, 1 / deviation);
  }

  // Between two edges, the slope is that of their piece and that of the number itself.
  void read_number(const ColumnCode& code) {
    at_mean_.assign(outputs_, 0);
    const bool varies = code.deviation > 0;
    Values whole(outputs_);
    if (varies) whole = slope(next(), code.mean, code.deviation);
    for (std::size_t k = 0; k < outputs_; ++k) at_mean_[k] = whole[k] * code.mean;
    if (varies) add(code, code.edges.empty() ? "per unit" : "per unit outside of the pieces", whole);
    for (std::size_t p = 0; p < code.pieces(); ++p) {
      const double low = code.edges[p], high = code.edges[p + 1];
      const Values weight = next();
      Values sum = times(weight, 1 / (high - low));
      for (std::size_t k = 0; k < outputs_; ++k) sum[k] += whole[k];
      add(code, fmt::format("per unit from {:.6g} to {:.6g}", low, high), std::move(sum));
      const double at_zero = std::clamp(-low / (high - low), 0.0, 1.0) - 0.5;
      add_to_intercept(weight, at_zero);
      for (std::size_t k = 0; k < outputs_; ++k) at_mean_[k] -= at_zero * weight[k];
    }
  }

  void read_date(const ColumnCode& code) {
    constexpr double day = 86'400, first_year = 1970;
    at_mean_.assign(outputs_, 0);
    const Values elapsed = slope(next(), code.mean, code.deviation);
    for (std::size_t k = 0; k < outputs_; ++k) at_mean_[k] += elapsed[k] * code.mean;
    add(code, "per day", times(elapsed, day));
    const ColumnCode::Calendar& calendar = code.calendar;
    if (calendar.year_deviation > 0) {
      const double mean = calendar.year_mean - first_year;
      const Values year = slope(next(), mean, calendar.year_deviation);
      for (std::size_t k = 0; k < outputs_; ++k) at_mean_[k] += year[k] * mean;
      add(code, "per calendar year", year);
    }
    const auto cycle = [&](bool differs, const char* what) {
      if (!differs) return;
      add(code, fmt::format("sine of the {}", what), next());
      add(code, fmt::format("cosine of the {}", what), next());
    };
    cycle(calendar.month, "month");
    cycle(calendar.weekday, "weekday");
    cycle(calendar.day_of_year, "day of the year");
    cycle(calendar.time_of_day, "time of day");
  }

  void read_texts(const ColumnCode& code) {
    at_mean_.assign(outputs_, 0);
    for (const std::string& level : code.levels) add(code, "is " + level, next());
    if (code.form != Form::hashed) return;
    for (std::size_t k = 0; k < Encoder::hash_features; ++k) {
      add(code, fmt::format("is a text of hash {}, of {}", k, Encoder::hash_features), next());
    }
  }

  // The features of a missing number are 0, as at the mean: what the intercept has for 0 in the column does not count.
  Values missing() {
    Values sum = next();
    for (std::size_t k = 0; k < outputs_; ++k) sum[k] += at_mean_[k];
    return sum;
  }

  std::span<const float> weights_;
  std::size_t outputs_;
  double scale_;
  std::size_t feature_ = 0;
  Values
      at_mean_;  // what the features of the column at hand add to the prediction where all are 0, beyond the intercept
  LinearForm form_;
};

}  // namespace

std::optional<LinearForm> linear_form(const Encoder& encoder, const Target& target, const Model<float>& model) {
  const bool has_biases = model.parameters().size() == (encoder.features() + 1) * model.outputs();
  if (!is_linear(model) || !has_biases) return std::nullopt;
  return LinearReader(target, model).read(encoder);
}

}  // namespace ignd
