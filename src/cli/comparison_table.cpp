#include "cli/comparison_table.hpp"

#include "cli/output.hpp"
#include "report/format.hpp"
#include "report/statistics.hpp"

#include <algorithm>

namespace ignd::cli {
namespace {

// Rates that were given, as those of the baselines, mean nothing.
std::string rate_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  return method.rate ? rate_text(*method.rate) : "none";
}

std::string failures_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  std::uint64_t failed = 0;
  std::uint64_t done = 0;
  for (const RateResult& rate : method.search) {
    failed += rate.failed;
    done += rate.done;
  }
  return fmt::format("{} of {}", failed, done);
}

void print_row(const std::string& name, std::size_t width, const std::string& rate, const std::string& score,
               const std::string& failures) {
  const std::string row = fmt::format("  {:<{}}  {:>10}  {:>22}  {:>12}", name, width, rate, score, failures);
  print("{}\n", row.substr(0, row.find_last_not_of(' ') + 1));
}

}  // namespace

void print_comparison(const PanelResults& panel, const ScoreInfo& metric) {
  std::size_t width = 0;
  for (const MethodResults& method : panel.methods) width = std::max(width, method.name.size());
  print_row("", width, "rate", metric.label, "runs failed");
  for (const MethodResults& method : panel.methods) {
    const Spread score = summarize(method).all;
    print_row(method.name, width, rate_cell(method), with_spread(score.mean, score.deviation), failures_cell(method));
  }
}

}  // namespace ignd::cli
