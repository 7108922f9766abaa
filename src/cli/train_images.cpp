// Images in class folders to train on.
#include "cli/class_data.hpp"
#include "cli/read_images.hpp"
#include "cli/training_data.hpp"
#include "ignd/network.hpp"
#include "learn/image_dataset.hpp"
#include "models/model_specs.hpp"

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Shape image_shape(std::size_t size) { return Shape::image(image_channels, size, size); }

void check_image(const TrainOptions& options) {
  check_class_options(options, "images");
  check_network(named_network(options.spec.training.model, image_shape(options.spec.size)));
}

std::unique_ptr<TrainingData> read_image_data(const TrainOptions& options) {
  const std::size_t size = options.spec.size;
  auto images = std::make_shared<const ImageSet>(
      read_images(options.spec.data.path, {size, size}, options.quiet || options.json));
  ClassDataParts parts{.task = std::make_unique<ImageDataset>(images, options.spec.dataset),
                       .shape = image_shape(size),
                       .samples = "images",
                       .size_key = "pixels",
                       .size_value = size,
                       .details = {fmt::format("made {} x {} pixels, in red, green and blue", size, size)},
                       .skipped = images->skipped()};
  return make_class_data(std::move(parts));
}

}  // namespace

const TrainingKind image_training{"images", "images", image_model_kind, RunKey::images, check_image, read_image_data};

}  // namespace ignd::cli
