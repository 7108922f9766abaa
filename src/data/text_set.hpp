#pragma once

#include "data/cell_format.hpp"
#include "data/class_files.hpp"
#include "data/data_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

class Table;
class Tokenizer;

// Texts as tokens, each with a class. Only the end of a long text is kept, which a recurrent network reads last.
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

  // Files that are not texts, by name.
  const std::vector<SkippedFile>& skipped() const { return skipped_; }

  // Of a table whose classes were not known before: the target as its only column, from which a dataset finds out
  // whether it holds classes or numbers. Null otherwise.
  const std::shared_ptr<const Table>& target() const { return target_; }
  void set_target(std::shared_ptr<const Table> target) { target_ = std::move(target); }

  // Of a table: see HeaderGuess::note.
  const std::string& header_note() const { return header_note_; }
  void set_header_note(std::string note) { header_note_ = std::move(note); }

  std::uint64_t checksum() const;  // covers everything

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
  std::shared_ptr<const Table> target_;
};

// Reads the last `most_tokens` of each text in a folder or archive with one folder per class, sorted by name. If some
// files are named *.txt, the others are skipped. Without class folders the set has no classes. Throws FileError.
TextSet read_text_files(const std::filesystem::path& source, const Tokenizer& tokenizer, std::size_t most_tokens,
                        bool with_classes = true);

// Columns of a table.
struct TextColumns {
  std::string text;
  std::string target;                      // empty: the texts have no target
  std::vector<std::string> classes;        // the allowed classes; empty: whatever the target holds
  std::optional<CellFormat> numbers = {};  // how the target's numbers are written, if it must hold numbers
};

// Reads the texts in a column of a CSV file, named after their rows, counted from 1. Numeric classes are sorted by
// value, others by bytes; a target of more than two values is in target() alone. Throws FileError with the row, and
// InvalidArgument for an unknown column.
TextSet read_text_table(const DataFile& data, const TextColumns& columns, const Tokenizer& tokenizer,
                        std::size_t most_tokens);

}  // namespace ignd
