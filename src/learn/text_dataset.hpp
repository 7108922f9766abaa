#pragma once

#include "data/text_set.hpp"
#include "learn/class_dataset.hpp"

#include <memory>
#include <string>

namespace ignd {

// The kind of a model file.
inline constexpr const char* text_model_kind = "text model";

// Of the tokens of a text.
inline constexpr std::size_t longest_text = 100'000;

// Which of two classes a text is of. A network reads so many tokens of a vocabulary, the last ones of a longer text.
class TextDataset final : public ClassDataset {
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
  TextDataset(std::shared_ptr<const TextSet> texts, Reader reader, const std::string& positive = {});

  const TextSet& texts() const { return *texts_; }
  const Reader& reader() const { return reader_; }

  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t scratch_size() const override { return 0; }
  std::size_t samples_at_a_time() const override { return 1; }  // a text takes long
  Sample<float> sample(std::uint32_t row, std::span<float> room) const override;
  std::vector<std::pair<std::string, std::string>> options_used() const override;
  std::uint64_t fingerprint() const override { return texts_->checksum(); }
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  std::shared_ptr<const TextSet> texts_;
  Reader reader_;
};

}  // namespace ignd
