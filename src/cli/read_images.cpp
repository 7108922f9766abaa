#include "cli/read_images.hpp"

#include "cli/console.hpp"
#include "cli/stop_signal.hpp"

#include <optional>

namespace ignd::cli {

ImageSet read_images(const std::string& source, ImageSize size, bool quiet) {
  const StopSignal stop;
  std::optional<Progress> progress;
  const auto show = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace("decoding", total, "images", quiet);
    progress->update(done);
  };
  ImageSet images = ImageSet::open(source, size, {.cache = {}, .progress = show, .stop = &stop.flag()});
  progress.reset();
  if (!images.note().empty()) print_error("ignd: {}\n", images.note());
  return images;
}

}  // namespace ignd::cli
