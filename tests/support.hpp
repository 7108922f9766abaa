#pragma once

#include "ignd/ignd.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What several tests need: random inputs and independent ways to compute what the library computes.
namespace ignd::testing {

template <class T = double>
std::vector<T> normal_vector(RandomStream& stream, std::size_t n, double scale = 1) {
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(scale * stream.normal());
  return values;
}

// A checkpoint as a version without these entries would have written it.
inline Checkpoint without_entries(const Checkpoint& whole, const std::string& prefix) {
  Checkpoint part;
  for (const auto& [name, entry] : whole.entries()) {
    if (name.starts_with(prefix)) continue;
    if (const auto* text = std::get_if<std::string>(&entry)) part.set(name, *text);
    const auto copy = [&part, &at = name]<class T>(const std::vector<T>* values) {
      if (values != nullptr) part.set(at, std::span<const T>(*values));
    };
    copy(std::get_if<std::vector<float>>(&entry));
    copy(std::get_if<std::vector<double>>(&entry));
    copy(std::get_if<std::vector<std::uint32_t>>(&entry));
    copy(std::get_if<std::vector<std::uint64_t>>(&entry));
  }
  return part;
}

// j written out, from the model's blocks.
template <class T>
std::vector<T> flat_sensitivity(const Model<T>& model, const Input<T>& x) {
  Trace<T> trace(model);
  model.predict(x, trace);
  model.sensitivity(x, trace);
  std::vector<T> j(model.parameters().size());
  write_dense<T>(trace.j, j);
  return j;
}

// j by central differences of the output, which know nothing of blocks.
inline std::vector<double> numeric_sensitivity(const Model<double>& model, const Input<double>& x) {
  const auto probe = model.clone();
  const auto w = probe->parameters();
  std::vector<double> j(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double kept = w[i];
    const double step = 1e-6 * std::max(1.0, std::abs(kept));
    w[i] = kept + step;
    const double above = probe->predict(x);
    w[i] = kept - step;
    const double below = probe->predict(x);
    w[i] = kept;
    j[i] = (above - below) / (2 * step);
  }
  return j;
}

// A random target that the loss accepts.
inline double random_target(const Loss& loss, RandomStream& stream) {
  const std::string spec = loss.spec();
  if (spec == "logistic") return static_cast<double>(stream.below(2));
  if (spec.starts_with("poisson")) return static_cast<double>(stream.below(6));
  return 2 * stream.normal();
}

inline std::vector<std::shared_ptr<const Loss>> all_losses() {
  std::vector<std::shared_ptr<const Loss>> losses;
  for (const auto& name : loss_names()) losses.push_back(make_loss(name));
  return losses;
}

// Whether this build has convolutions, and why a test that needs them is skipped.
#ifdef IGND_HAS_ONEDNN
inline constexpr bool has_convolutions = true;
#else
inline constexpr bool has_convolutions = false;
#endif
inline constexpr const char* no_convolutions = "this build has no convolutions (IGND_ONEDNN)";

// What an InvalidArgument says that `call` throws.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
  return "nothing was thrown";
}

}  // namespace ignd::testing
