#pragma once

#include "data/example_parser.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

// Streams to choose and check the defaults of StreamLearner with.
namespace ignd::bench {

// y = w.z + noise N(0,1), or a label with log-odds w.(z - mean), with w ~ N(0,1) and x_i = s_i z_i.
struct DenseStream {
  std::size_t features = 8;
  double mean = 0;         // of every z_i
  double correlation = 0;  // of neighbouring features
  double noise = 0.1;
  bool drifts = false;  // new weights half-way
  bool classifies = false;
  double weights = 1;  // their standard deviation
  enum class Scales { one, powers, uniform } scales = Scales::one;
};

inline double scale_of(DenseStream::Scales scales, RandomStream& stream) {
  if (scales == DenseStream::Scales::one) return 1;
  if (scales == DenseStream::Scales::uniform) return stream.uniform(-1e4, 1e4);
  const double sign = stream.below(2) == 0 ? 1 : -1;
  return sign * std::pow(10, stream.uniform(-4, 4));
}

inline double label_with(double log_odds, RandomStream& stream) {
  return stream.uniform() < 1 / (1 + std::exp(-log_odds)) ? 1 : 0;
}

inline ExampleBlock make_dense(const DenseStream& kind, std::uint64_t seed, std::size_t rows) {
  RandomStream data(seed, "data");
  RandomStream scale_stream(seed, "scales");
  std::vector<double> before(kind.features), after(kind.features), scales(kind.features);
  for (double& w : before) w = kind.weights * data.normal();
  for (double& w : after) w = kind.weights * data.normal();
  for (double& s : scales) s = scale_of(kind.scales, scale_stream);
  ExampleBlock block;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto& w = kind.drifts && row >= rows / 2 ? after : before;
    double f = 0;
    double last = 0;
    for (std::size_t i = 0; i < kind.features; ++i) {
      const double fresh = data.normal();
      last = i == 0 ? fresh : kind.correlation * last + std::sqrt(1 - kind.correlation * kind.correlation) * fresh;
      const double z = kind.mean + last;
      f += w[i] * (kind.classifies ? last : z);
      block.index.push_back(static_cast<std::uint32_t>(i));
      block.value.push_back(static_cast<float>(scales[i] * z));
    }
    block.finish(kind.classifies ? label_with(f, data) : f + kind.noise * data.normal(), 1, row + 1);
  }
  return block;
}

// 40 of 2^18 features, each 1; the larger `skew`, the more often the first ones.
struct SparseStream {
  double skew = 1;
  bool classifies = true;
  double weights = 0.3;
};

inline ExampleBlock make_sparse(const SparseStream& kind, std::uint64_t seed, std::size_t rows) {
  constexpr double features = 1 << 18;
  RandomStream data(seed, "data");
  std::vector<double> w(1 << 18);
  for (double& value : w) value = kind.weights * data.normal();
  ExampleBlock block;
  for (std::size_t row = 0; row < rows; ++row) {
    std::set<std::uint32_t> active;
    while (active.size() < 40)
      active.insert(static_cast<std::uint32_t>(features * std::pow(data.uniform(), kind.skew)));
    double f = kind.classifies ? -1 : 0;
    for (const std::uint32_t i : active) {
      f += w[i];
      block.index.push_back(i);
      block.value.push_back(1);
    }
    block.finish(kind.classifies ? label_with(f, data) : f + data.normal(), 1, row + 1);
  }
  return block;
}

inline ExampleBlock make_stream(const std::string& name, std::uint64_t seed, std::size_t rows) {
  using Scales = DenseStream::Scales;
  static const std::map<std::string, DenseStream> dense{
      {"scales-one", {}},
      {"scales-powers", {.scales = Scales::powers}},
      {"scales-uniform", {.scales = Scales::uniform}},
      {"noisy", {.noise = 1}},
      {"means", {.mean = 5}},
      {"drift", {.drifts = true}},
      {"correlated", {.correlation = 0.9}},
      {"collinear", {.correlation = 0.99}},
      {"wide", {.features = 100}},
      {"classes", {.features = 10, .classifies = true}},
      {"classes-means", {.features = 10, .mean = 5, .classifies = true}},
      {"classes-drift", {.features = 10, .drifts = true, .classifies = true}},
      {"classes-sharp", {.features = 10, .classifies = true, .weights = 5}},
  };
  static const std::map<std::string, SparseStream> sparse{
      {"sparse", {}},
      {"sparse-skewed", {.skew = 4}},
      {"sparse-numbers", {.skew = 4, .classifies = false, .weights = 1}}};
  if (const auto found = dense.find(name); found != dense.end()) return make_dense(found->second, seed, rows);
  if (const auto found = sparse.find(name); found != sparse.end()) return make_sparse(found->second, seed, rows);
  throw InvalidArgument("there is no stream '" + name + "'");
}

}  // namespace ignd::bench
