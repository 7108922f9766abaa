#include "learn/centring.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ignd {
namespace {

bool is_in_order(std::span<const std::uint32_t> index, std::size_t weights) {
  if (!index.empty() && index.back() >= weights) return false;
  return std::ranges::adjacent_find(index, std::greater_equal<>()) == index.end();
}

}  // namespace

Input<float> Centring::in_order(const Input<float>& x, CentringScratch& scratch) const {
  if (is_in_order(x.index, weights_)) return x;
  scratch.order.resize(x.index.size());
  for (std::size_t k = 0; k < x.index.size(); ++k) {
    scratch.order[k] = std::uint64_t{x.index[k] & (weights_ - 1)} << 32 | k;
  }
  std::ranges::sort(scratch.order);
  auto& index = scratch.ordered_index;
  auto& value = scratch.ordered_value;
  index.clear();
  value.clear();
  for (const std::uint64_t entry : scratch.order) {
    const auto weight = static_cast<std::uint32_t>(entry >> 32);
    const float added = x.values[entry & UINT32_MAX];
    if (!index.empty() && index.back() == weight) {
      value.back() += added;
    } else {
      index.push_back(weight);
      value.push_back(added);
    }
  }
  return {value, index};
}

Input<float> Centring::centred(const Input<float>& x, CentringScratch& scratch) const {
  if (is_idle()) return x;
  const Input<float> ordered = scratch.ordered = in_order(x, scratch);
  scratch.index.clear();
  scratch.value.clear();
  const auto put = [&](std::uint32_t index, double value) {
    scratch.index.push_back(index);
    scratch.value.push_back(static_cast<float>(value));
  };
  std::size_t k = 0;
  const auto put_until = [&](std::size_t end) {
    for (; k < ordered.index.size() && ordered.index[k] < end; ++k) put(ordered.index[k], ordered.values[k]);
  };
  for (const Feature& feature : features_) {
    if (!is_dense(feature)) continue;
    put_until(feature.index);
    const bool present = k < ordered.index.size() && ordered.index[k] == feature.index;
    put(feature.index, (present ? static_cast<double>(ordered.values[k++]) : 0) - feature.mean);
  }
  put_until(weights_);
  return {scratch.value, scratch.index};
}

void Centring::add_candidates(const Input<float>& x) {
  std::vector<Feature> all;
  std::size_t known = 0;
  for (const std::uint32_t index : x.index) {
    for (; known < features_.size() && features_[known].index < index; ++known) all.push_back(features_[known]);
    if (known == features_.size() || features_[known].index != index) all.push_back({.index = index});
  }
  all.insert(all.end(), features_.begin() + static_cast<std::ptrdiff_t>(known), features_.end());
  features_ = std::move(all);
}

// Sets moved_ to the features after x, the latest example.
void Centring::move_means(const Input<float>& x) {
  moved_ = features_;
  std::size_t k = 0;
  for (Feature& feature : moved_) {
    while (k < x.index.size() && x.index[k] < feature.index) ++k;
    const bool present = k < x.index.size() && x.index[k] == feature.index && x.values[k] != 0;
    const double value = present ? static_cast<double>(x.values[k]) : 0;
    feature.mean += (value - feature.mean) / static_cast<double>(examples_ + 1);
    if (present) ++feature.seen;
  }
}

bool Centring::observe(const CentringScratch& example, std::span<float> weights, std::size_t outputs) {
  if (is_idle()) return true;
  if (is_looking()) add_candidates(example.ordered);
  shift_.assign(outputs, 0.0);
  const auto add_to_shift = [&](const std::vector<Feature>& features, double sign) {
    for (const Feature& feature : features) {
      if (!is_dense(feature)) continue;
      const auto of_feature = weights.subspan(feature.index * outputs, outputs);
      for (std::size_t c = 0; c < outputs; ++c) {
        shift_[c] += sign * static_cast<double>(of_feature[c]) * feature.mean;
      }
    }
  };
  add_to_shift(features_, -1);
  ++examples_;
  move_means(example.ordered);
  add_to_shift(moved_, 1);
  const auto bias = weights.last(outputs);
  bool finite = true;
  for (std::size_t c = 0; c < outputs; ++c) {
    shift_[c] += static_cast<double>(bias[c]);
    finite = finite && std::isfinite(static_cast<float>(shift_[c]));
  }
  if (!finite) {
    --examples_;
    return false;
  }
  for (std::size_t c = 0; c < outputs; ++c) bias[c] = static_cast<float>(shift_[c]);
  if (!is_looking()) std::erase_if(moved_, [&](const Feature& feature) { return !is_dense(feature); });
  features_.swap(moved_);
  return true;
}

void Centring::save(Checkpoint& checkpoint) const {
  std::vector<std::uint32_t> index;
  std::vector<double> mean;
  std::vector<std::uint64_t> seen;
  for (const Feature& feature : features_) {
    index.push_back(feature.index);
    mean.push_back(feature.mean);
    seen.push_back(feature.seen);
  }
  checkpoint.set("centring.examples", examples_);
  checkpoint.set("centring.features", std::uint64_t{features_.size()});
  checkpoint.set("centring.index", std::span<const std::uint32_t>(index));
  checkpoint.set("centring.mean", std::span<const double>(mean));
  checkpoint.set("centring.seen", std::span<const std::uint64_t>(seen));
}

void Centring::restore(const Checkpoint& checkpoint) {
  const std::size_t count = checkpoint.number("centring.features");
  const auto& index = checkpoint.array<std::uint32_t>("centring.index", count);
  const auto& mean = checkpoint.array<double>("centring.mean", count);
  const auto& seen = checkpoint.array<std::uint64_t>("centring.seen", count);
  if (!is_in_order(index, weights_))
    throw FileError("the checkpoint's centred features are not in order: it is damaged");
  examples_ = checkpoint.number("centring.examples");
  features_.clear();
  for (std::size_t k = 0; k < count; ++k) features_.push_back({index[k], mean[k], seen[k]});
}

}  // namespace ignd
