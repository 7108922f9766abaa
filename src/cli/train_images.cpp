// Images in class folders to train on.
#include "cli/class_data.hpp"
#include "cli/read_images.hpp"
#include "cli/training_data.hpp"
#include "ignd/network.hpp"
#include "models/named_network.hpp"
#include "train/image_task.hpp"

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Shape shape_of(std::size_t size) { return Shape::image(image_channels, size, size); }

void complete(TrainOptions& options) {
  refuse_options(options, {"--target", "--format", "--delimiter", "--header"},
                 " cannot be given for images: their folders are their classes");
  refuse_options(options, {"--length"}, " can only be given for texts");
  complete_class_options(options, "cnn:32,64,128/128,64", "images");
  check_network(named_network(options.run.model, shape_of(options.size)));
}

std::unique_ptr<TrainingData> read(const TrainOptions& options) {
  const std::size_t size = options.size;
  auto images =
      std::make_shared<const ImageSet>(read_images(options.data.path, {size, size}, options.quiet || options.json));
  ClassDataParts parts{.task = std::make_unique<ImageTask>(images, class_task_options(options)),
                       .shape = shape_of(size),
                       .samples = "images",
                       .size_key = "pixels",
                       .size_value = size,
                       .details = {fmt::format("made {} x {} pixels, in red, green and blue", size, size)},
                       .skipped = images->skipped()};
  return make_class_data(std::move(parts));
}

}  // namespace

const DataKind image_data{"images", image_model_kind, complete, read};

}  // namespace ignd::cli
