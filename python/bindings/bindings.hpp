#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>

// The parts of the module, and what they share.
namespace ignd_python {

namespace nb = nanobind;

void bind_control(nb::module_& module);
void bind_frames(nb::module_& module);
void bind_losses(nb::module_& module);
void bind_online(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_trainers(nb::module_& module);

// What a long computation and the thread that waits for it tell each other.
struct Watch {
  std::atomic<bool> stop = false;
  std::atomic<double> share = 0;

  bool tell(double done) {
    share = done;
    return !stop;
  }
};

// Learns samples in their order, some at a time, without the interpreter; looks for Ctrl-C in between, and then leaves
// off with what has been learned. `learn_some(first, count)` learns that many, a multiple of `size` but at the end, and
// says whether more can be learned.
template <class Learn>
void learn_interruptibly(std::size_t samples, std::size_t size, Learn learn_some) {
  constexpr std::chrono::milliseconds pause(50);
  constexpr std::size_t some = 64;
  const std::size_t part = (some + size - 1) / size * size;
  bool goes_on = true;
  for (std::size_t first = 0; goes_on && first < samples;) {
    {
      const nb::gil_scoped_release without_interpreter;
      const auto look = std::chrono::steady_clock::now() + pause;
      while (goes_on && first < samples && std::chrono::steady_clock::now() < look) {
        const std::size_t count = std::min(part, samples - first);
        goes_on = learn_some(first, count);
        first += count;
      }
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// Computes in a thread of its own, without the interpreter, while this one looks for Ctrl-C and tells `progress` (None
// or a function of the share that is done; False ends the computation).
template <class Compute>
auto compute_interruptibly(const nb::object& progress, Compute compute) {
  constexpr std::chrono::milliseconds pause(50);
  Watch watch;
  auto result = std::async(std::launch::async, [&] { return compute(watch); });
  std::exception_ptr interrupted;
  while (true) {
    std::future_status status{};
    {
      const nb::gil_scoped_release without_interpreter;
      status = result.wait_for(watch.stop ? std::chrono::hours(1) : pause);
    }
    if (status == std::future_status::ready) break;
    if (watch.stop) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none() && progress(watch.share.load()).is(nb::bool_(false))) watch.stop = true;
    } catch (...) {
      interrupted = std::current_exception();
      watch.stop = true;
    }
  }
  if (interrupted) {
    try {
      result.get();
    } catch (const std::exception&) {  // that of a computation without a result
    }
    std::rethrow_exception(interrupted);
  }
  return result.get();
}

}  // namespace ignd_python
