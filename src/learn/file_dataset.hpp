#pragma once

#include "data/class_files.hpp"
#include "data/image_set.hpp"
#include "data/text_set.hpp"
#include "learn/dataset.hpp"
#include "models/layer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// What is known of the targets of images or texts: the classes of their folders, or a column of a table.
struct FileTargets {
  std::string name = "class";
  std::vector<std::string> classes = {};     // each sample is of one of these, by its number,
  std::vector<std::size_t> labels = {};      // unless there is
  std::shared_ptr<const Table> column = {};  // this: its only column is the target of each sample
  std::vector<FilePart> parts = {};
};

// Images or texts, each of a class or with a number.
class FileDataset : public Dataset {
 public:
  std::size_t size() const { return values_.size(); }
  double target_in_units(std::uint32_t row) const override { return values_[row]; }
  double row_weight(std::uint32_t /*row*/) const override { return 1; }
  SearchBudget search_budget() const override;

 protected:
  // Samples of a test folder, where there is one, are the test set; a share of the others is the validation set.
  // Throws InvalidArgument unless there are two classes or more, or numbers, and samples for every part; BadSample for
  // a target that cannot be learned.
  FileDataset(const FileTargets& targets, const DatasetOptions& options);
  // To measure a model that has learned this target with this loss. All samples are test samples, or only those of a
  // test folder where there is one.
  FileDataset(const FileTargets& targets, const Target& learned, const std::string& loss);

  double learned_target(std::uint32_t row) const;

 private:
  struct Known {
    std::vector<std::uint32_t> test, others;
  };
  static Known take(std::span<const FilePart> parts);
  void draw_split(const Known& known, const FileTargets& targets);
  void check_targets(const Table& column, const Target& target) const;

  std::vector<double> values_;  // numbers, or the numbers of classes
};

// The kind of a model file.
inline constexpr const char* image_model_kind = "image model";

// Bytes of colour as numbers from 0 to 1.
void scale_pixels(std::span<const std::uint8_t> pixels, std::span<float> numbers);

// What a model reads of an image, in its file.
void save_image_size(Checkpoint& checkpoint, ImageSize size);
ImageSize load_image_size(const Checkpoint& checkpoint);  // throws FileError

// What class or number an image has.
class ImageDataset final : public FileDataset {
 public:
  // Throws InvalidArgument.
  ImageDataset(std::shared_ptr<const ImageSet> images, const DatasetOptions& options);
  // To measure a model that was trained on others.
  ImageDataset(std::shared_ptr<const ImageSet> images, const Target& learned, const std::string& loss);

  const ImageSet& images() const { return *images_; }
  Shape shape() const;  // of an image, as a network reads it

  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t scratch_size() const override { return image_channels * images_->height() * images_->width(); }
  Sample<float> sample(std::uint32_t row, std::span<float> scratch) const override;
  std::uint64_t fingerprint() const override { return images_->checksum(); }
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  std::shared_ptr<const ImageSet> images_;
};

// The kind of a model file.
inline constexpr const char* text_model_kind = "text model";

// Tokens.
inline constexpr std::size_t longest_text = 100'000;

// What class or number a text has. A network reads the last `length` tokens of a text.
class TextDataset final : public FileDataset {
 public:
  struct Reader {
    std::size_t length = 256;
    std::size_t vocabulary = 0;
    std::string text_column;  // of a table; empty: texts are files
    std::string target_column;

    void save(Checkpoint& checkpoint) const;
    static Reader load(const Checkpoint& checkpoint);  // throws FileError
  };

  // Throws InvalidArgument.
  TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const DatasetOptions& options);
  // To measure a model that was trained on others.
  TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const Target& learned, const std::string& loss);

  const TextSet& texts() const { return *texts_; }
  const Reader& reader() const { return reader_; }
  Shape shape() const;  // of a text, as a network reads it

  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t scratch_size() const override { return 0; }
  std::size_t samples_at_a_time() const override { return 1; }  // a text takes long
  Sample<float> sample(std::uint32_t row, std::span<float> scratch) const override;
  std::uint64_t fingerprint() const override { return texts_->checksum(); }
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  std::shared_ptr<const TextSet> texts_;
  Reader reader_;
};

}  // namespace ignd
