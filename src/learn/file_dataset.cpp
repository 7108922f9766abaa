#include "learn/file_dataset.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// Of an ImageSet or a TextSet.
template <class Files>
std::vector<ClassDataset::Labelled> labels_of(const Files& files) {
  std::vector<ClassDataset::Labelled> labels;
  for (std::size_t i = 0; i < files.size(); ++i) labels.push_back({files.label(i), files.part(i)});
  return labels;
}

}  // namespace

ClassDataset::ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                           const DatasetOptions& options)
    : Dataset(options) {
  auto [test, others] = take(classes, samples, options.positive);
  const double test_share = test.empty() ? options.test : 0;
  const SplitFractions fractions{.validation = options.validation, .test = test_share};
  std::vector<std::uint64_t> others_labels;
  for (const std::uint32_t row : others) others_labels.push_back(labels_[row]);
  split_ = options.stratified ? split_by_class(others_labels, fractions, options.seed)
                              : split_randomly(others.size(), fractions, options.seed);
  for (auto* part : {&split_.train, &split_.validation, &split_.test}) {
    for (std::uint32_t& row : *part) row = others[row];
  }
  if (!test.empty()) split_.test = std::move(test);
  for (std::size_t k = 0; k < classes.size(); ++k) {
    if (std::ranges::any_of(split_.train, [&](std::uint32_t row) { return labels_[row] == k; })) continue;
    throw InvalidArgument(fmt::format("no training sample is of the class {}; give more of them, or another --seed",
                                      in_quotes(classes[k])));
  }
  limit_parts();
}

ClassDataset::ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                           const std::string& positive)
    : Dataset({.positive = positive}) {
  auto [test, others] = take(classes, samples, positive);
  split_.test = std::move(test.empty() ? others : test);
}

ClassDataset::Known ClassDataset::take(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                                       const std::string& positive) {
  check_two_classes(classes);
  target_.name = "class";
  const std::size_t one = positive.empty() ? 1 : find_positive(classes, positive, true);
  target_.classes = {classes[1 - one], classes[one]};
  target_.text = true;
  loss_ = "logistic";
  Known known;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    labels_.push_back(samples[i].label == one ? 1 : 0);
    (samples[i].part == FilePart::test ? known.test : known.others).push_back(i);
  }
  return known;
}

// A step may take long: all rates together are given less than half an epoch.
SearchBudget ClassDataset::search_budget() const {
  constexpr std::uint64_t least = 200;
  const std::uint64_t some = std::max<std::uint64_t>(split().train.size() / 10, least);
  return {.samples = some, .judged = some};
}

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
    : ClassDataset(images->classes(), labels_of(*images), options), images_(std::move(images)) {
  options_.size = images_->height();
}

ImageDataset::ImageDataset(std::shared_ptr<const ImageSet> images, const std::string& positive)
    : ClassDataset(images->classes(), labels_of(*images), positive), images_(std::move(images)) {}

std::unique_ptr<Dataset> ImageDataset::with_split(Split split) const {
  auto other = std::make_unique<ImageDataset>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string ImageDataset::model_spec(const std::string& text) const { return named_network(text, shape()); }

Shape ImageDataset::shape() const { return Shape::image(image_channels, images_->height(), images_->width()); }

Sample<float> ImageDataset::sample(std::uint32_t row, std::span<float> scratch) const {
  const auto x = scratch.first(scratch_size());
  thread_local std::vector<std::uint8_t> pixels;
  pixels.resize(images_->image_bytes());
  images_->read_pixels(row, pixels);
  scale_pixels(pixels, x);
  return {.x = {x}, .y = target_in_units(row)};
}

void ImageDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(image_model_kind));
  save_image_size(checkpoint, {images_->height(), images_->width()});
}

void TextDataset::Reader::save(Checkpoint& checkpoint) const {
  checkpoint.set("text.length", std::uint64_t{length});
  checkpoint.set("text.vocabulary", std::uint64_t{vocabulary});
  checkpoint.set("text.column", text_column);
  checkpoint.set("text.target", target_column);
}

TextDataset::Reader TextDataset::Reader::load(const Checkpoint& checkpoint) {
  return {.length = checkpoint.number("text.length"),
          .vocabulary = checkpoint.number("text.vocabulary"),
          .text_column = checkpoint.text("text.column"),
          .target_column = checkpoint.text("text.target")};
}

TextDataset::TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const DatasetOptions& options)
    : ClassDataset(texts->classes(), labels_of(*texts), options), texts_(std::move(texts)), reader_(std::move(reader)) {
  options_.length = reader_.length;
  if (!reader_.target_column.empty()) target_.name = reader_.target_column;
}

TextDataset::TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const std::string& positive)
    : ClassDataset(texts->classes(), labels_of(*texts), positive),
      texts_(std::move(texts)),
      reader_(std::move(reader)) {}

std::unique_ptr<Dataset> TextDataset::with_split(Split split) const {
  auto other = std::make_unique<TextDataset>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string TextDataset::model_spec(const std::string& text) const { return named_network(text, shape()); }

Shape TextDataset::shape() const { return Shape::tokens(reader_.length, reader_.vocabulary); }

Sample<float> TextDataset::sample(std::uint32_t row, std::span<float> /*scratch*/) const {
  const auto tokens = texts_->tokens(row);
  return {.x = {.values = {}, .index = tokens.last(std::min(tokens.size(), reader_.length))},
          .y = target_in_units(row)};
}

void TextDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(text_model_kind));
  reader_.save(checkpoint);
}

}  // namespace ignd
