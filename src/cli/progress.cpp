#include "cli/progress.hpp"

#include "cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {

Progress::Progress(std::string what, std::uint64_t total, std::string unit, bool quiet)
    : what_(std::move(what)), total_(total), unit_(std::move(unit)), shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::update(std::uint64_t done, const std::string& note) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (!started_) {
    started_ = true;
    first_ = done;
    start_ = last_ = now;
    return;
  }
  constexpr std::chrono::milliseconds pause(100);
  if (now - last_ < pause) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done - first_) / seconds;
  const double share =
      std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total_, 1)));
  constexpr std::size_t width = 24;
  const auto full = static_cast<std::size_t>(share * width);
  const double left = rate > 0 ? static_cast<double>(total_ - std::min(done, total_)) / rate : 0;
  print_error("\r\x1b[K{} [{}{}] {:3.0f} %  {:.3g} {}/s  {:.0f} s left{}", what_, std::string(full, '#'),
              std::string(width - full, '.'), 100 * share, rate, unit_, left, note);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_ || !started_) return;
  print_error("\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace ignd::cli
