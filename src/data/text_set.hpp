#pragma once

#include "data/class_files.hpp"
#include "data/data_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

class Tokenizer;

// Texts as tokens, each of a class. Of a long text only the end is kept, which a recurrent network reads last.
class TextSet {
 public:
  explicit TextSet(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  void add(std::string name, std::size_t label, FilePart part, std::span<const std::uint32_t> tokens);
  void skip(SkippedFile file) { skipped_.push_back(std::move(file)); }

  std::size_t size() const { return texts_.size(); }
  const std::vector<std::string>& classes() const { return classes_; }
  const std::string& name(std::size_t i) const { return texts_[i].name; }
  std::size_t label(std::size_t i) const { return texts_[i].label; }
  FilePart part(std::size_t i) const { return texts_[i].part; }
  std::span<const std::uint32_t> tokens(std::size_t i) const {
    return std::span(tokens_).subspan(texts_[i].begin, texts_[i].length);
  }

  // Files that are no texts, by name.
  const std::vector<SkippedFile>& skipped() const { return skipped_; }

  // Of a table: that of a HeaderGuess.
  const std::string& header_note() const { return header_note_; }
  void set_header_note(std::string note) { header_note_ = std::move(note); }

  std::uint64_t checksum() const;  // of all texts

 private:
  struct Text {
    std::string name;
    std::size_t label = 0;
    FilePart part = FilePart::none;
    std::size_t begin = 0, length = 0;
  };
  std::vector<std::string> classes_;
  std::vector<Text> texts_;
  std::vector<std::uint32_t> tokens_;
  std::vector<SkippedFile> skipped_;
  std::string header_note_;
};

// The texts of a folder or an archive with a folder for each class, in the order of their names; of each the last
// `most_tokens`. Where some files are named *.txt, the others are skipped. Without class folders the set has no
// classes. Throws FileError.
TextSet read_text_files(const std::filesystem::path& source, const Tokenizer& tokenizer, std::size_t most_tokens,
                        bool with_classes = true);

// Columns of a table.
struct TextColumns {
  std::string text;
  std::string target;                // of two different values; empty: the texts have no class
  std::vector<std::string> classes;  // the only ones that there may be; empty: whatever the target has
};

// The texts in a column of comma-separated values, named after their rows: "1" is below the header. Of classes that are
// numbers the smaller one is the first, otherwise the one whose bytes are. Throws FileError, with the row, and
// InvalidArgument where a column is not there or the target has more than two values.
TextSet read_text_table(const DataFile& data, const TextColumns& columns, const Tokenizer& tokenizer,
                        std::size_t most_tokens);

}  // namespace ignd
