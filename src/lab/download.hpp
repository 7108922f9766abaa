#pragma once

#include "data/catalogue.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace ignd {

struct DownloadOptions {
  std::uint64_t most = std::uint64_t{1} << 32;  // bytes; a larger download is refused
  std::chrono::seconds connect_timeout{30};
  std::chrono::seconds stall_timeout{60};               // without a byte
  std::function<void(std::uint64_t done)> on_progress;  // bytes received so far; may be empty
  std::filesystem::path authorities;                    // certificates to trust; empty: the system's
};

// Downloads `url` to `target`: to `target`.part first, which is renamed once `check` has accepted it by not throwing.
// Supports http and https; https is never redirected to http. Resumes the part that an earlier attempt left; if `check`
// refuses the result, downloads the whole file again. The part is locked against other processes. Throws FileError and
// then leaves `target` as it was.
void download(const std::string& url, const std::filesystem::path& target,
              const std::function<void(const std::filesystem::path& part)>& check, const DownloadOptions& options);

// Brings a data set to the cache folder unless it is here already, and returns its path. `from` is an address to use
// instead of the public one; may be empty. Throws FileError with what to do by hand.
std::filesystem::path fetch_data(const DataSet& set, const std::string& from,
                                 const std::function<void(std::uint64_t done)>& on_progress);

}  // namespace ignd
