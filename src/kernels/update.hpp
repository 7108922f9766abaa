#pragma once

#include <array>
#include <cmath>
#include <cstddef>

// What each transform does to one weight, and the one loop that does it to many. A step gets the direction g at a
// weight w with its state, changes the state and returns the change of w. `drifts` says whether a step with g = 0
// still changes something.
namespace ignd::kernels {

template <class T>
struct PlainStep {
  static constexpr std::size_t slots = 0;
  static constexpr bool drifts = false;
  T alpha;
  T operator()(T g, T /*w*/) const { return -alpha * g; }
};

template <class T>
struct MomentumStep {
  static constexpr std::size_t slots = 1;
  static constexpr bool drifts = true;
  T alpha, beta;
  T operator()(T g, T /*w*/, T& velocity) const {
    velocity = beta * velocity + g;
    return -alpha * velocity;
  }
};

template <class T>
struct NesterovStep {
  static constexpr std::size_t slots = 1;
  static constexpr bool drifts = true;
  T alpha, beta;
  T operator()(T g, T /*w*/, T& velocity) const {
    velocity = beta * velocity + g;
    return -alpha * (g + beta * velocity);
  }
};

template <class T>
struct AdaGradStep {
  static constexpr std::size_t slots = 1;
  static constexpr bool drifts = false;
  T alpha, eps;
  T operator()(T g, T /*w*/, T& sum_of_squares) const {
    sum_of_squares += g * g;
    return -alpha * g / (std::sqrt(sum_of_squares) + eps);
  }
};

template <class T>
struct RmsPropStep {
  static constexpr std::size_t slots = 1;
  static constexpr bool drifts = true;
  T alpha, rho, eps;
  T operator()(T g, T /*w*/, T& mean_square) const {
    mean_square = rho * mean_square + (T{1} - rho) * g * g;
    return -alpha * g / (std::sqrt(mean_square) + eps);
  }
};

template <class T>
struct AdaDeltaStep {
  static constexpr std::size_t slots = 2;
  static constexpr bool drifts = true;
  T alpha, rho, eps;
  T operator()(T g, T /*w*/, T& mean_square, T& mean_square_step) const {
    mean_square = rho * mean_square + (T{1} - rho) * g * g;
    const T step = g * std::sqrt((mean_square_step + eps) / (mean_square + eps));
    mean_square_step = rho * mean_square_step + (T{1} - rho) * step * step;
    return -alpha * step;
  }
};

// Adam, and AdamW where decay is not zero. The corrections are 1 / (1 - beta^t), computed once per step.
template <class T>
struct AdamStep {
  static constexpr std::size_t slots = 2;
  static constexpr bool drifts = true;
  T alpha, beta1, beta2, eps, correction1, correction2, decay;
  T operator()(T g, T w, T& first, T& second) const {
    first = beta1 * first + (T{1} - beta1) * g;
    second = beta2 * second + (T{1} - beta2) * g * g;
    return -alpha * (first * correction1 / (std::sqrt(second * correction2) + eps) + decay * w);
  }
};

template <class T, std::size_t Slots>
using StatePointers = std::array<T*, Slots>;

// Applies the step with g[k] = c d[k] + decay w[k] to n weights and returns sum_k j[k] dw[k].
template <class T, class Step>
double update(const Step& step, T* w, StatePointers<T, Step::slots> state, const T* j, const T* d, T c, T decay,
              std::size_t n) {
  double h = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const T g = c * d[k] + decay * w[k];
    T change;
    if constexpr (Step::slots == 0) {
      change = step(g, w[k]);
    } else if constexpr (Step::slots == 1) {
      change = step(g, w[k], state[0][k]);
    } else {
      change = step(g, w[k], state[0][k], state[1][k]);
    }
    w[k] += change;
    h += static_cast<double>(j[k]) * static_cast<double>(change);
  }
  return h;
}

// The step with g = 0.
template <class T, class Step>
void idle(const Step& step, T* w, StatePointers<T, Step::slots> state, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    if constexpr (Step::slots == 0) {
      w[k] += step(T{0}, w[k]);
    } else if constexpr (Step::slots == 1) {
      w[k] += step(T{0}, w[k], state[0][k]);
    } else {
      w[k] += step(T{0}, w[k], state[0][k], state[1][k]);
    }
  }
}

}  // namespace ignd::kernels
