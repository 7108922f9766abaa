// How fast a file of comma-separated values is read, with one and with two threads that parse:
//   build/bench/bin/read_csv data.csv 5
// The best of several runs, since the first may wait for the disk and others for other programs. What it takes in
// processor time, of all threads together, depends less on what else runs.
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string>

namespace {

struct Seconds {
  double passed;
  double of_processor;
};

Seconds read(const std::string& path, unsigned threads) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t used = std::clock();
  const ignd::Table table = ignd::Table::read_csv(path, {.dialect = {}, .threads = threads});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return {passed.count(), static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw ignd::InvalidArgument("usage: read_csv FILE RUNS");
    const double megabytes = static_cast<double>(std::filesystem::file_size(argv[1])) / 1e6;
    for (const unsigned threads : {1U, 2U}) {
      Seconds best = read(argv[1], threads);
      for (long run = 1; run < std::strtol(argv[2], nullptr, 10); ++run) {
        const Seconds again = read(argv[1], threads);
        best.passed = std::min(best.passed, again.passed);
        best.of_processor = std::min(best.of_processor, again.of_processor);
      }
      std::printf("%u thread%s: %.0f MB/s, %.0f MB in a second of processor time\n", threads, threads == 1 ? "" : "s",
                  megabytes / best.passed, megabytes / best.of_processor);
    }
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  }
}
