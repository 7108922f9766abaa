#include "core/text.hpp"
#include "ignd/version.hpp"

#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

constexpr int usage_error = 2;
constexpr int failure = 1;

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app{"Incremental Gauss-Newton Descent: train scalar-output models one sample at a time.", "ignd"};
    app.set_version_flag("--version", fmt::format("ignd {}\ncompiler: {}\ncpu path: {}", ignd::version(),
                                                  ignd::compiler(), ignd::cpu_path()));
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
    fmt::print("{}", app.help());
    return 0;
  } catch (const std::exception& fault) {
    fmt::print(stderr, "ignd: {}\n", ignd::printable(fault.what(), 2000));
    return failure;
  }
}
