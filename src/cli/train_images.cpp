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

void complete_image(TrainOptions& options) {
  refuse_options(options, {"--target", "--format", "--delimiter", "--header"},
                 " cannot be given for images: their folders are their classes");
  refuse_options(options, {"--length"}, " can only be given for texts");
  complete_class_options(options, "cnn:32,64,128/128,64", "images");
  check_network(named_network(options.run.model, image_shape(options.size)));
}

std::unique_ptr<TrainingData> read_image_data(const TrainOptions& options) {
  const std::size_t size = options.size;
  auto images =
      std::make_shared<const ImageSet>(read_images(options.data.path, {size, size}, options.quiet || options.json));
  ClassDataParts parts{.task = std::make_unique<ImageDataset>(images, class_task_options(options)),
                       .shape = image_shape(size),
                       .samples = "images",
                       .size_key = "pixels",
                       .size_value = size,
                       .details = {fmt::format("made {} x {} pixels, in red, green and blue", size, size)},
                       .skipped = images->skipped()};
  return make_class_data(std::move(parts));
}

}  // namespace

const DataKind image_data{"images", image_model_kind, complete_image, read_image_data};

}  // namespace ignd::cli
