#include "cli/progress.hpp"

#include "base/text.hpp"
#include "cli/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {
namespace {

constexpr const char* line_start = "\r\x1b[K";  // and nothing on it

}  // namespace

Progress::Progress(std::string what, std::uint64_t total, std::string unit, bool quiet)
    : what_(std::move(what)), total_(total), unit_(std::move(unit)), visible_(!quiet && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

bool Progress::is_due() const {
  constexpr std::chrono::milliseconds pause(100);
  return visible_ && Clock::now() - last_ >= pause;
}

void Progress::update(std::uint64_t done) {
  if (!started_) {
    started_ = true;
    first_ = done;
    start_ = last_ = Clock::now();
  }
  if (!is_due()) return;
  const double rate = static_cast<double>(done - first_) / std::chrono::duration<double>(Clock::now() - start_).count();
  const double left = rate > 0 ? static_cast<double>(total_ - std::min(done, total_)) / rate : 0;
  show(static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total_, 1)),
       fmt::format("{:.3g} {}/s  {} left", rate, unit_, duration_text(std::ceil(left))));
}

void Progress::show(double share, const std::string& words) {
  if (!is_due()) return;
  last_ = Clock::now();
  drawn_ = true;
  constexpr std::size_t width = 24;
  const double shown = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(shown * width);
  std::fputs(line_start, stderr);
  print_error("{} [{}{}] {:3.0f} %  {}", what_, std::string(full, '#'), std::string(width - full, '.'), 100 * shown,
              words);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs(line_start, stderr);
  std::fflush(stderr);
}

}  // namespace ignd::cli
