#pragma once

#include <atomic>
#include <chrono>
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
