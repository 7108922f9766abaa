// ignd_bench: microseconds per training sample of every model and optimizer, beside floors measured in the same run.
//   ./run bench [--json] [--filter TEXT] [--repeats COUNT]
#include "base/text.hpp"
#include "bench/peaks.hpp"
#include "bench/rows.hpp"
#include "cli/console.hpp"
#include "ignd/ignd.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>

namespace ignd::bench {
namespace {

using cli::print;
using cli::print_error;

constexpr int usage_error = 2;
constexpr std::size_t array_bytes = std::size_t{128} << 20;  // more than the last-level cache of most machines

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double heap_megabytes() {
  const auto use = mallinfo2();
  return 1e-6 * static_cast<double>(use.uordblks + use.hblkhd);
}

// Seconds per unit of each kind of work at the machine's best.
struct Peaks {
  Timed multiply_adds, stores, roots;
};

template <class T>
Peaks make_peaks() {
  constexpr std::size_t rounds = 1000;
  return {{[] { multiply_adds<T>(rounds); }, multiply_adds<T>(rounds)},
          {[] { stored_bytes<T>(rounds); }, stored_bytes<T>(rounds)},
          {[] { roots_and_quotients<T>(rounds); }, roots_and_quotients<T>(rounds)}};
}

// Two threads at once, which may share a processor. Long enough that starting a thread does not matter.
Timed time_two_threads() {
  constexpr std::size_t rounds = 200'000;
  return {[] {
            std::thread other([] { multiply_adds<float>(rounds); });
            multiply_adds<float>(rounds);
            other.join();
          },
          2 * multiply_adds<float>(rounds)};
}

struct AllPeaks {
  Peaks in_float = make_peaks<float>();
  Peaks in_double = make_peaks<double>();
  Timed lines = time_lines();
  Timed two_threads = time_two_threads();
  std::shared_ptr<std::vector<float>> array = std::make_shared<std::vector<float>>(array_bytes / sizeof(float));
  Timed reads = {[array = array] { read_bytes(*array); }, static_cast<double>(array_bytes)};
  Timed updates = {[array = array] { updated_bytes(*array); }, static_cast<double>(array_bytes)};

  std::vector<Timed*> all() {
    return {&in_float.multiply_adds,
            &in_float.stores,
            &in_float.roots,
            &in_double.multiply_adds,
            &in_double.stores,
            &in_double.roots,
            &lines,
            &two_threads,
            &reads,
            &updates};
  }
};

// Peaks count by their best rounds: what the machine can do undisturbed. The random lines are work like that of the
// rows, whose cost depends on what other programs leave of the caches: both count by the median of the same rounds.
double floor_us(const Row& row, const AllPeaks& peaks) {
  const Work& work = row.measured.work;
  const Peaks& numbers = row.precision == "float" ? peaks.in_float : peaks.in_double;
  const Timed& shared = row.threads == 2 ? peaks.two_threads : numbers.multiply_adds;
  return 1e6 * (work.multiply_adds * numbers.multiply_adds.best() + work.shared_multiply_adds * shared.best() +
                work.weight_bytes * numbers.stores.best() + work.memory_reads * peaks.reads.best() +
                work.memory_updates * peaks.updates.best() + work.roots * numbers.roots.best() +
                work.lines * peaks.lines.typical());
}

void print_peaks(const Peaks& peaks, const char* precision) {
  print("peaks, {:6}: {:.1f} G multiply-adds/s, {:.1f} GB/s stored, {:.2f} G root-and-quotients/s\n", precision,
        1e-9 / peaks.multiply_adds.best(), 1e-9 / peaks.stores.best(), 1e-9 / peaks.roots.best());
}

void print_head(const AllPeaks& peaks, unsigned repeats) {
  print("ignd {}, {}, {} kernels; median of {} rounds\n", version(), compiler(), cpu_path(), repeats);
  print_peaks(peaks.in_float, "float");
  print_peaks(peaks.in_double, "double");
  print("two threads, float: {:.1f} G multiply-adds/s\n", 1e-9 / peaks.two_threads.best());
  print("a random line of {} kB: {:.2f} ns, spread {:.1f}%, at best {:.2f}\n", hashed_table_bytes() / 1024,
        1e9 * peaks.lines.typical(), 100 * peaks.lines.spread(), 1e9 * peaks.lines.best());
  print("{} MB in a row: {:.1f} GB/s read, {:.1f} GB/s changed\n\n", array_bytes >> 20, 1e-9 / peaks.reads.best(),
        1e-9 / peaks.updates.best());
  print("{:28} {:22} {:8} {:>7} {:>10} {:>8} {:>10} {:>7} {:>7}\n", "model", "optimizer", "numbers", "threads",
        "us/sample", "spread", "floor us", "ratio", "MB");
}

void print_row(const Row& row, const AllPeaks& peaks, bool json) {
  const Timed& timed = row.measured.timed;
  const double us = 1e6 * timed.typical();
  const double floor = floor_us(row, peaks);
  if (json) {
    cli::JsonLine("row")
        .set("model", row.model)
        .set("optimizer", row.optimizer)
        .set("precision", row.precision)
        .set("threads", std::uint64_t{row.threads})
        .set("us_per_sample", us)
        .set("spread", timed.spread())
        .set("floor_us", floor)
        .set("megabytes", row.megabytes)
        .set("cpu_path", cpu_path())
        .print();
  } else {
    print("{:28} {:22} {:8} {:7} {:10.3f} {:7.1f}% {:10.3f} {:7.2f} {:7.1f}\n", row.model, row.optimizer, row.precision,
          row.threads, us, 100 * timed.spread(), floor, us / floor, row.megabytes);
  }
}

struct Options {
  bool json = false;
  std::string filter;  // only rows whose "model optimizer precision" contains this
  unsigned repeats = 15;
};

int measure_all(const Options& options) {
  std::vector<Row> rows = step_rows();
  std::ranges::move(network_rows(), std::back_inserter(rows));
  std::erase_if(rows, [&](const Row& row) { return row.label().find(options.filter) == std::string::npos; });
  if (rows.empty()) {
    print_error("ignd_bench: no benchmark contains {}; without --filter all are listed\n", in_quotes(options.filter));
    return usage_error;
  }

  AllPeaks peaks;
  std::vector<Timed*> all = peaks.all();
  for (Row& row : rows) {
    const double before = heap_megabytes();
    row.measured = row.start();
    row.measured.timed.warm_up();
    row.megabytes = heap_megabytes() - before;
    all.push_back(&row.measured.timed);
  }

  // Interleaves everything round by round: a disturbance hits all alike and the ratios hold.
  for (Timed* timed : all) timed->calibrate();
  // Of this thread alone: a second busy thread must not hide the time that others took.
  const double wall_start = seconds_of(CLOCK_MONOTONIC);
  const double cpu_start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (unsigned repeat = 0; repeat < options.repeats; ++repeat) {
    for (Timed* timed : all) timed->round();
  }
  const double busy = (seconds_of(CLOCK_MONOTONIC) - wall_start) / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_start);

  if (!options.json) print_head(peaks, options.repeats);
  for (const Row& row : rows) print_row(row, peaks, options.json);
  if (busy > 1.03) {
    print_error("ignd_bench: the machine is busy: {:.0f} % of the time went to others; the figures are too high\n",
                100 * (1 - 1 / busy));
  }
  return 0;
}

int parse_and_measure(int argc, char** argv) {
  Options options;
  CLI::App app{"Measure microseconds per training sample on this machine.", "ignd_bench"};
  app.add_flag("--json", options.json, "One JSON object per line");
  app.add_option("--filter", options.filter, "Only rows whose model, optimizer or precision contains this");
  app.add_option("--repeats", options.repeats, "Rounds of measurement")
      ->check(CLI::Range(3U, 1000U))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& fault) {
    print_error("ignd_bench: {} (see --help)\n", printable(fault.what(), 200));
    return usage_error;
  }
  return measure_all(options);
}

int run(int argc, char** argv) {
  try {
    return parse_and_measure(argc, argv);
  } catch (const std::exception& fault) {
    print_error("ignd_bench: {}\n", printable(fault.what(), 2000));
    return 1;
  }
}

}  // namespace
}  // namespace ignd::bench

int main(int argc, char** argv) {
  const int code = ignd::bench::run(argc, argv);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? code : 1;
}
