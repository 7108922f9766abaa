#include "cli/stop_signal.hpp"

#include <csignal>

namespace ignd::cli {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void request_stop(int /*signal*/) { stop.store(true, std::memory_order_relaxed); }

void handle(int signal) {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  stop = false;
  handle(SIGINT);
  handle(SIGTERM);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& StopSignal::flag() const { return stop; }

}  // namespace ignd::cli
