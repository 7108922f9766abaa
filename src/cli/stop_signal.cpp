#include "cli/stop_signal.hpp"

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace ignd::cli {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

std::atomic<int> stop_event = -1;
static_assert(std::atomic<int>::is_always_lock_free, "and reads this");

void request_stop(int /*signal*/) {
  const int error = errno;
  stop_requested = true;
  const std::uint64_t one = 1;
  // Without an event, poll() is not woken; the flag is set all the same.
  [[maybe_unused]] const ssize_t written = write(stop_event, &one, sizeof one);
  errno = error;
}

}  // namespace

StopSignal::StopSignal() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  stop_requested = false;
  stop_event = descriptor_;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    Before before{.signal = signal, .action = {}};
    sigaction(signal, nullptr, &before.action);
    if (before.action.sa_handler == SIG_IGN) continue;
    before_.push_back(before);
    struct sigaction action {};
    action.sa_handler = request_stop;
    // Printing on the way to the end would raise the last two again.
    const bool again_ends = signal == SIGINT || signal == SIGTERM;
    action.sa_flags = again_ends ? static_cast<int>(SA_RESTART | SA_RESETHAND) : SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (const Before& before : before_) sigaction(before.signal, &before.action, nullptr);
  stop_event = -1;
  if (descriptor_ >= 0) close(descriptor_);
}

const std::atomic<bool>& StopSignal::flag() const { return stop_requested; }

}  // namespace ignd::cli
