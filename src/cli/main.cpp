#include "cli/bench.hpp"
#include "core/text.hpp"
#include "ignd/version.hpp"

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

constexpr int usage_error = 2;
constexpr int failure = 1;

int run(int argc, char** argv) {
  try {
    CLI::App app{"Incremental Gauss-Newton Descent: train scalar-output models one sample at a time.", "ignd"};
    app.set_version_flag("--version", fmt::format("ignd {}\ncompiler: {}\ncpu path: {}", ignd::version(),
                                                  ignd::compiler(), ignd::cpu_path()));
    ignd::cli::BenchOptions bench_options;
    CLI::App* bench = app.add_subcommand("bench", "Measure microseconds per training sample on this machine");
    bench->add_flag("--json", bench_options.json, "One JSON object per line");
    bench->add_option("--filter", bench_options.filter, "Only rows whose model, optimizer or precision contains this");
    bench->add_option("--repeats", bench_options.repeats, "Rounds of measurement")
        ->check(CLI::Range(3, 1000))
        ->capture_default_str();
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      fmt::print("{}", app.help());
      return 0;
    } catch (const CLI::CallForVersion&) {
      fmt::print("{}\n", app.version());
      return 0;
    } catch (const CLI::ParseError& fault) {
      fmt::print(stderr, "ignd: {} (see ignd --help)\n", ignd::printable(fault.what(), 200));
      return usage_error;
    }
    if (bench->parsed()) return ignd::cli::bench(bench_options);
    fmt::print("{}", app.help());
    return 0;
  } catch (const std::exception& fault) {
    fmt::print(stderr, "ignd: {}\n", ignd::printable(fault.what(), 2000));
    return failure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  // A result that could not be written is a failure, however well it was computed.
  if (std::fflush(stdout) == 0) return code;
  fmt::print(stderr, "ignd: cannot write to the standard output\n");
  return failure;
}
