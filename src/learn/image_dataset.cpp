#include "learn/image_dataset.hpp"

#include "ignd/checkpoint.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ignd {
namespace {

std::vector<ClassDataset::Labelled> labels_of(const ImageSet& images) {
  std::vector<ClassDataset::Labelled> labels;
  for (std::size_t i = 0; i < images.size(); ++i) labels.push_back({images.label(i), images.part(i)});
  return labels;
}

}  // namespace

void scale_pixels(std::span<const std::uint8_t> pixels, std::span<float> numbers) {
  std::transform(pixels.begin(), pixels.end(), numbers.begin(),
                 [](std::uint8_t byte) { return static_cast<float>(byte) * (1.0F / 255); });
}

void save_image_size(Checkpoint& checkpoint, ImageSize size) {
  const std::array<std::uint64_t, 2> numbers{size.height, size.width};
  checkpoint.set("image.size", std::span<const std::uint64_t>(numbers));
}

ImageSize load_image_size(const Checkpoint& checkpoint) {
  const auto& numbers = checkpoint.array<std::uint64_t>("image.size", 2);
  return {numbers[0], numbers[1]};
}

ImageDataset::ImageDataset(std::shared_ptr<const ImageSet> images, const DatasetOptions& options)
    : ClassDataset(images->classes(), labels_of(*images), options), images_(std::move(images)) {}

ImageDataset::ImageDataset(std::shared_ptr<const ImageSet> images, const std::string& positive)
    : ClassDataset(images->classes(), labels_of(*images), positive), images_(std::move(images)) {}

std::unique_ptr<Dataset> ImageDataset::with_split(Split split) const {
  auto other = std::make_unique<ImageDataset>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string ImageDataset::model_spec(const std::string& text) const {
  return named_network(text, Shape::image(image_channels, images_->height(), images_->width()));
}

Sample<float> ImageDataset::sample(std::uint32_t row, std::span<float> room) const {
  const auto x = room.first(this->scratch_size());
  thread_local std::vector<std::uint8_t> pixels;
  pixels.resize(images_->image_bytes());
  images_->read_pixels(row, pixels);
  scale_pixels(pixels, x);
  return {.x = {x}, .y = target_in_units(row)};
}

std::vector<std::pair<std::string, std::string>> ImageDataset::options_used() const {
  auto options = ClassDataset::options_used();
  options.emplace_back("size", std::to_string(images_->height()));
  return options;
}

void ImageDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(image_model_kind));
  save_image_size(checkpoint, {images_->height(), images_->width()});
}

}  // namespace ignd
