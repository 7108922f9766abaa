#pragma once

#include "data/catalogue.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace ignd {

struct DownloadOptions {
  std::uint64_t most = std::uint64_t{1} << 32;  // bytes; a server that sends more is not believed
  std::chrono::seconds connect_timeout{30};
  std::chrono::seconds stall_timeout{60};               // without a byte
  std::function<void(std::uint64_t done)> on_progress;  // bytes that are here; may be empty
  std::filesystem::path authorities;                    // certificates to trust; empty: the system's
};

// Downloads `url` (http or https, and then by no redirect to http) to `target`: to `target`.part first, which becomes
// `target` once `check` has accepted it by not throwing. A part that an earlier attempt has left is gone on with; if
// what comes of that is refused, the whole is downloaded anew. Two processes do not write to one part. Throws
// FileError; then `target` is as it was.
void download(const std::string& url, const std::filesystem::path& target,
              const std::function<void(const std::filesystem::path& part)>& check, const DownloadOptions& options);

// Brings a data set to the cache folder unless it is here already, and returns its path. `from` is an address to use
// instead of the public one; may be empty. Throws FileError with what to do by hand.
std::filesystem::path fetch_data(const DataSet& set, const std::string& from,
                                 const std::function<void(std::uint64_t done)>& on_progress);

}  // namespace ignd
