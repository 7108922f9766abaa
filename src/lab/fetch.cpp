#include "lab/fetch.hpp"

#include "ignd/error.hpp"
#include "lab/download.hpp"

#include <fmt/format.h>

namespace ignd {

std::filesystem::path fetch_data(const DataSet& set, const std::string& from,
                                 const std::function<void(std::uint64_t done)>& on_progress) {
  if (const DataPlace place = look_for_data(set); !place.path.empty()) return place.path;
  const std::string& url = from.empty() ? set.url : from;
  if (url.empty())
    throw FileError(fmt::format("{} has no public address to fetch it from; {}", set.name, by_hand(set)));

  std::filesystem::path target = cache_folder() / set.files.front();
  DownloadOptions options;
  options.on_progress = on_progress;
  // The same files may have been packed less tightly than in the public archive.
  constexpr std::uint64_t slack = std::uint64_t{1} << 20;
  options.most = 4 * set.size + slack;
  try {
    download(
        url, target, [&](const std::filesystem::path& part) { check_data(set, part, set.files.front()); }, options);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{}; {}", fault.what(), by_hand(set)));
  }
  return target;
}

}  // namespace ignd
