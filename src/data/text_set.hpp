#pragma once

#include "data/class_files.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Tokenizer;

// Texts as tokens, each of a class. Of a long text only the end is kept, which a recurrent network reads last.
class TextSet {
 public:
  explicit TextSet(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  void add(std::string name, std::size_t label, FilePart part, std::span<const std::uint32_t> tokens);

  std::size_t size() const { return texts_.size(); }
  const std::vector<std::string>& classes() const { return classes_; }
  const std::string& name(std::size_t i) const { return texts_[i].name; }
  std::size_t label(std::size_t i) const { return texts_[i].label; }
  FilePart part(std::size_t i) const { return texts_[i].part; }
  std::span<const std::uint32_t> tokens(std::size_t i) const {
    return std::span(tokens_).subspan(texts_[i].begin, texts_[i].length);
  }

  std::uint64_t checksum() const;  // of all of it

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
};

// The texts of a folder or an archive with a folder for each class, in the order of their names; of each the last
// `most_tokens`. Throws FileError.
TextSet read_text_files(const std::filesystem::path& source, const Tokenizer& tokenizer, std::size_t most_tokens);

}  // namespace ignd
