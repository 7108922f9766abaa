#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "data/catalogue.hpp"
#include "lab/download.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>

namespace ignd::cli {
int list_data() {
  std::size_t width = 0;
  for (const DataSet& set : data_sets()) width = std::max(width, set.name.size());
  print("{:{}}  {:>8}  {:10}  {:12}  {}\n", "name", width, "size", "licence", "checksum", "where");
  for (const DataSet& set : data_sets()) {
    print("{:{}}  {:>8}  {:10}  {:12}  {}\n", set.name, width, in_megabytes(set.size), set.licence,
          set.verified ? "verified" : "not verified", describe(look_for_data(set)));
  }
  for (const DataSet& set : data_sets()) {
    print("\n{}\n  {}\n  address: {}\n  cite: {}\n  checksum: {}\n", set.name, set.title,
          set.url.empty() ? "none that is public" : set.url, set.citation, set.verification);
  }
  return 0;
}

std::string in_megabytes(std::uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

std::filesystem::path fetch_with_progress(const DataSet& set, const std::string& from) {
  Progress progress("Fetching " + set.name, set.size, "bytes", false);
  auto path = ignd::fetch_data(set, from, [&](std::uint64_t done) { progress.update(done); });
  progress.clear();
  return path;
}

int fetch_data(const DataOptions& options) {
  print_data(fetch_with_progress(find_data_set(options.name), options.from).string() + "\n");
  return 0;
}

int print_data_path(const DataOptions& options) {
  print_data(find_data(options.name).string() + "\n");
  return 0;
}

}  // namespace ignd::cli
