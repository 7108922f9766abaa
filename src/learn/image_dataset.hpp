#pragma once

#include "data/image_set.hpp"
#include "learn/class_dataset.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// The kind of a model file.
inline constexpr const char* image_model_kind = "image model";

// Bytes of colour as numbers from 0 to 1.
void scale_pixels(std::span<const std::uint8_t> pixels, std::span<float> numbers);

// What a model reads of an image, in its file.
void save_image_size(Checkpoint& checkpoint, ImageSize size);
ImageSize load_image_size(const Checkpoint& checkpoint);  // throws FileError

// Which of two classes an image is of.
class ImageDataset final : public ClassDataset {
 public:
  // Throws InvalidArgument.
  ImageDataset(std::shared_ptr<const ImageSet> images, const DatasetOptions& options);
  // To measure a model that was trained on others.
  explicit ImageDataset(std::shared_ptr<const ImageSet> images, const std::string& positive = {});

  const ImageSet& images() const { return *images_; }

  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t scratch_size() const override { return image_channels * images_->height() * images_->width(); }
  Sample<float> sample(std::uint32_t row, std::span<float> room) const override;
  std::vector<std::pair<std::string, std::string>> options_used() const override;
  std::uint64_t fingerprint() const override { return images_->checksum(); }
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  std::shared_ptr<const ImageSet> images_;
};

}  // namespace ignd
