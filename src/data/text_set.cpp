#include "data/text_set.hpp"

#include "data/tokenizer.hpp"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace ignd {

void TextSet::add(std::string name, std::size_t label, FilePart part, std::span<const std::uint32_t> tokens) {
  texts_.push_back({std::move(name), label, part, tokens_.size(), tokens.size()});
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

std::uint64_t TextSet::checksum() const {
  std::uint64_t hash = XXH3_64bits(tokens_.data(), tokens_.size() * sizeof(std::uint32_t));
  for (const std::string& name : classes_) hash = XXH3_64bits_withSeed(name.data(), name.size() + 1, hash);
  for (const Text& text : texts_) {
    hash = XXH3_64bits_withSeed(text.name.data(), text.name.size(), hash);
    const std::uint64_t numbers[] = {text.label, static_cast<std::uint64_t>(text.part), text.length};
    hash = XXH3_64bits_withSeed(numbers, sizeof(numbers), hash);
  }
  return hash;
}

TextSet read_text_files(const std::filesystem::path& source, const Tokenizer& tokenizer, std::size_t most_tokens) {
  const ClassFiles listed = list_class_files(source);
  std::vector<std::vector<std::uint32_t>> tokens(listed.files.size());
  Tokenizer::Scratch scratch;
  std::vector<std::uint32_t> ids;
  visit_class_files(source, listed, [&](std::size_t file, std::string_view content) {
    ids.clear();
    tokenizer.encode(content, ids, scratch);
    const auto kept = std::span(ids).last(std::min(ids.size(), most_tokens));
    tokens[file].assign(kept.begin(), kept.end());
  });
  TextSet set(listed.classes);
  for (std::size_t i = 0; i < listed.files.size(); ++i) {
    const ClassFile& file = listed.files[i];
    set.add(file.name, file.label, file.part, tokens[i]);
  }
  return set;
}

}  // namespace ignd
