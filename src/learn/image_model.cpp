#include "learn/image_model.hpp"

#include "data/image_cache.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/file_dataset.hpp"

#include <vector>

#include <fmt/format.h>

namespace ignd {

ImageModel ImageModel::load(const Checkpoint& checkpoint) {
  ImageModel loaded{TrainedModel::load(checkpoint), load_image_size(checkpoint)};
  if (!loaded.target.is_class()) throw FileError("its model has no classes");
  const auto [height, width] = loaded.size;
  if (height > largest_image_side || width > largest_image_side) {
    throw FileError(fmt::format("its images are {} x {} pixels: that is too large", height, width));
  }
  try {
    const std::vector<float> black(image_channels * height * width);
    loaded.model->check({black});
    return loaded;
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("its model and the size of its images do not fit together: {}", fault.what()));
  }
}

}  // namespace ignd
