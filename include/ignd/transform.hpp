#pragma once

#include "ignd/aligned.hpp"
#include "ignd/api.hpp"
#include "ignd/schedule.hpp"
#include "ignd/sensitivity.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// One step as a transform sees it: the direction is g = c * d + decay * w. The trainer alone counts steps,
// once per sample whatever the number of blocks.
struct Step {
  std::uint64_t t = 1;
  double alpha = 0;
  double c = 0;
  double decay = 0;
  double s = 0;  // j^T d
};

// A transform's state: one array for each of its state_names(), each the size of the parameters.
template <class T>
using TransformState = std::vector<AlignedVector<T>>;

// What several steps with g = 0 add up to: internal, in src/core/idle_steps.hpp.
template <class T>
struct IdleSteps;

// Turns a direction into an update of w, weight by weight. Transforms are immutable; the state is the trainer's, so
// that it can be copied and saved.
template <class T>
class IGND_API Transform {
 public:
  virtual ~Transform() = default;

  virtual std::vector<std::string> state_names() const = 0;
  TransformState<T> initial_state(std::size_t parameter_count) const;

  // Updates the weights of every block of `direction` and returns h = j^T dw, the first-order change of the
  // prediction. `direction` has the blocks of j (it is j itself, or P j under a preconditioner).
  virtual double apply(std::span<T> w, TransformState<T>& state, const Sensitivity<T>& j,
                       const Sensitivity<T>& direction, const Step& step) const = 0;

  // Whether it takes g as it is: w -= alpha g.
  virtual bool is_plain() const { return false; }

  // Whether it takes a root and divides for every weight, the most expensive part of such a step.
  virtual bool takes_roots() const { return false; }

  // Decoupled weight decay: w loses alpha * decay() * w at every step.
  virtual double decay() const { return 0; }

  // Whether a step with g = 0 changes a weight or its state.
  virtual bool drifts() const = 0;

  // Sums up idle steps, those with g = 0: steps first to last, or step t followed by those of `later`, which costs next
  // to nothing. sum_idle_steps reuses what `steps` holds from an earlier call where that is still valid.
  virtual void sum_idle_steps(std::uint64_t first, std::uint64_t last, const Schedule& schedule,
                              IdleSteps<T>& steps) const = 0;
  virtual void prepend_idle_step(std::uint64_t t, const Schedule& schedule, const IdleSteps<T>& later,
                                 IdleSteps<T>& steps) const = 0;

  // Applies them to weights [offset, offset + count).
  virtual void idle(std::span<T> w, TransformState<T>& state, std::size_t offset, std::size_t count,
                    const IdleSteps<T>& steps) const = 0;

  virtual std::string spec() const = 0;
};

// plain
// momentum:beta=0.9            a = beta a + g; w -= alpha a
// nesterov:beta=0.9            a = beta a + g; w -= alpha (g + beta a)
// adagrad:eps=1e-10            a += g^2; w -= alpha g / (sqrt(a) + eps)
// rmsprop:rho=0.9,eps=1e-8     a = rho a + (1 - rho) g^2; w -= alpha g / (sqrt(a) + eps)
// adadelta:rho=0.95,eps=1e-6   Zeiler's, multiplied by alpha
// adam:beta1=0.9,beta2=0.999,eps=1e-8
// adamw:beta1=0.9,beta2=0.999,eps=1e-8,decay=0.01     adam and w -= alpha decay w
template <class T>
IGND_API std::shared_ptr<const Transform<T>> make_transform(std::string_view spec);

IGND_API std::vector<std::string> transform_names();

}  // namespace ignd
