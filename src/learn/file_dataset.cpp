#include "learn/file_dataset.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/frame.hpp"
#include "ignd/network.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

FileTargets targets_of(const ImageSet& images) {
  FileTargets targets{.classes = images.classes()};
  for (std::size_t i = 0; i < images.size(); ++i) {
    targets.labels.push_back(images.label(i));
    targets.parts.push_back(images.part(i));
  }
  return targets;
}

FileTargets targets_of(const TextSet& texts, const TextDataset::Reader& reader) {
  FileTargets targets{.classes = texts.classes(), .column = texts.target()};
  if (!reader.target_column.empty()) targets.name = reader.target_column;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    targets.labels.push_back(texts.label(i));
    targets.parts.push_back(texts.part(i));
  }
  return targets;
}

std::string network_for(const std::string& text, const Shape& shape, std::size_t outputs) {
  std::string network = named_network(text, shape, outputs);
  check_network(network, outputs);
  return network;
}

// The classes as a column of texts.
std::shared_ptr<const Table> column_of(const FileTargets& targets) {
  check_classes(targets.classes);
  std::vector<std::string> names;
  for (const std::size_t label : targets.labels) names.push_back(targets.classes[label]);
  Frame frame{.rows = names.size(), .columns = {}};
  frame.columns.emplace_back(targets.name,
                             std::make_shared<TextColumn>(std::move(names), FrameColumn::Kind::categories));
  return std::make_shared<const Table>(Table::of_frame(frame, {}));
}

}  // namespace

FileDataset::Known FileDataset::take(std::span<const FilePart> parts) {
  Known known;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    (parts[i] == FilePart::test ? known.test : known.others).push_back(i);
  }
  return known;
}

void FileDataset::draw_split(const Known& known, const FileTargets& targets) {
  const auto& [test, others] = known;
  const double test_share = test.empty() ? options_.test : 0;
  const SplitFractions fractions{.validation = options_.validation, .test = test_share};
  std::vector<std::uint64_t> labels;
  labels.reserve(others.size());
  for (const std::uint32_t row : others) labels.push_back(targets.classes.empty() ? 0 : targets.labels[row]);
  split_ = options_.stratified && !targets.classes.empty() ? split_by_class(labels, fractions, options_.seed)
                                                           : split_randomly(others.size(), fractions, options_.seed);
  for (auto* part : {&split_.train, &split_.validation, &split_.test}) {
    for (std::uint32_t& row : *part) row = others[row];
  }
  if (!test.empty()) split_.test = test;
  for (std::size_t k = 0; k < targets.classes.size(); ++k) {
    if (std::ranges::any_of(split_.train, [&](std::uint32_t row) { return targets.labels[row] == k; })) continue;
    throw InvalidArgument(fmt::format("no training sample is of the class {}; give more of them, or another --seed",
                                      in_quotes(targets.classes[k])));
  }
}

void FileDataset::check_targets(const Table& column, const Target& target) const {
  if (target.is_class()) return;
  const auto loss = make_loss(loss_);
  for (std::uint32_t row = 0; row < column.size(); ++row) {
    try {
      loss->check_target(target.learned(column[row][0]));
    } catch (const BadSample& fault) {
      throw BadSample(fmt::format("row {}: {}", row + 1, fault.what()));
    }
  }
}

FileDataset::FileDataset(const FileTargets& targets, const DatasetOptions& options) : Dataset(options) {
  const std::shared_ptr<const Table> column = targets.column ? targets.column : column_of(targets);
  draw_split(take(targets.parts), targets);
  std::vector<std::uint32_t> rows(column->size());
  std::iota(rows.begin(), rows.end(), 0U);
  target_ = fit_target(*column, 0, rows, split_.train, options.loss, options.positive);
  loss_ = options.loss.empty() ? default_loss(target_) : tidy_spec(options.loss);
  check_targets(*column, target_);
  for (const std::uint32_t row : rows) {
    const double value = (*column)[row][0];
    values_.push_back(target_.is_class() ? target_.learned(value) : value);
  }
  limit_parts();
}

FileDataset::FileDataset(const FileTargets& targets, const Target& learned, const std::string& loss) : Dataset({}) {
  target_ = learned;
  loss_ = loss;
  for (std::size_t i = 0; i < targets.parts.size(); ++i) {
    if (!learned.is_class()) {
      values_.push_back((*targets.column)[i][0]);
      continue;
    }
    const auto known = std::ranges::find(learned.classes, targets.classes[targets.labels[i]]);
    values_.push_back(static_cast<double>(known - learned.classes.begin()));
  }
  auto [test, others] = take(targets.parts);
  split_.test = std::move(test.empty() ? others : test);
}

double FileDataset::learned_target(std::uint32_t row) const {
  return target_.is_class() ? values_[row] : target_.learned(values_[row]);
}

// A step may take long: all rates together are given less than half an epoch.
SearchBudget FileDataset::search_budget() const {
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
    : FileDataset(targets_of(*images), options), images_(std::move(images)) {
  options_.size = images_->height();
}

ImageDataset::ImageDataset(std::shared_ptr<const ImageSet> images, const Target& learned, const std::string& loss)
    : FileDataset(targets_of(*images), learned, loss), images_(std::move(images)) {}

std::unique_ptr<Dataset> ImageDataset::with_split(Split split) const {
  auto other = std::make_unique<ImageDataset>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string ImageDataset::model_spec(const std::string& text) const {
  return network_for(text, shape(), target().outputs());
}

Shape ImageDataset::shape() const { return Shape::image(image_channels, images_->height(), images_->width()); }

Sample<float> ImageDataset::sample(std::uint32_t row, std::span<float> scratch) const {
  const auto x = scratch.first(scratch_size());
  thread_local std::vector<std::uint8_t> pixels;
  pixels.resize(images_->image_bytes());
  images_->read_pixels(row, pixels);
  scale_pixels(pixels, x);
  return {.x = {x}, .y = learned_target(row)};
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
    : FileDataset(targets_of(*texts, reader), options), texts_(std::move(texts)), reader_(std::move(reader)) {
  options_.length = reader_.length;
}

TextDataset::TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const Target& learned,
                         const std::string& loss)
    : FileDataset(targets_of(*texts, reader), learned, loss), texts_(std::move(texts)), reader_(std::move(reader)) {}

std::unique_ptr<Dataset> TextDataset::with_split(Split split) const {
  auto other = std::make_unique<TextDataset>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string TextDataset::model_spec(const std::string& text) const {
  return network_for(text, shape(), target().outputs());
}

Shape TextDataset::shape() const { return Shape::tokens(reader_.length, reader_.vocabulary); }

Sample<float> TextDataset::sample(std::uint32_t row, std::span<float> /*scratch*/) const {
  const auto tokens = texts_->tokens(row);
  return {.x = {.values = {}, .index = tokens.last(std::min(tokens.size(), reader_.length))}, .y = learned_target(row)};
}

void TextDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(text_model_kind));
  reader_.save(checkpoint);
}

}  // namespace ignd
