#include "cli/stop_signal.hpp"

namespace ignd::cli {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void request_stop(int /*signal*/) { stop.store(true, std::memory_order_relaxed); }

}  // namespace

StopSignal::StopSignal() {
  stop = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    Before before{.signal = signal, .action = {}};
    sigaction(signal, nullptr, &before.action);
    if (before.action.sa_handler == SIG_IGN) continue;
    before_.push_back(before);
    struct sigaction action {};
    action.sa_handler = request_stop;
    // What is printed on the way to the end would raise the last two again.
    const bool again_ends = signal == SIGINT || signal == SIGTERM;
    action.sa_flags = again_ends ? static_cast<int>(SA_RESTART | SA_RESETHAND) : SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (const Before& before : before_) sigaction(before.signal, &before.action, nullptr);
}

const std::atomic<bool>& StopSignal::flag() const { return stop; }

}  // namespace ignd::cli
