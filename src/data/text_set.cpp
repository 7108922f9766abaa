#include "data/text_set.hpp"

#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/csv.hpp"
#include "data/example_reader.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {
namespace {

// Encodes texts and keeps the last tokens of each.
class TextEncoder {
 public:
  TextEncoder(const Tokenizer& tokenizer, std::size_t most_tokens) : tokenizer_(tokenizer), most_tokens_(most_tokens) {}

  std::vector<std::uint32_t> encode(std::string_view text) {
    ids_.clear();
    tokenizer_.encode(text, ids_, scratch_);
    return {ids_.end() - static_cast<std::ptrdiff_t>(std::min(ids_.size(), most_tokens_)), ids_.end()};
  }

 private:
  const Tokenizer& tokenizer_;
  std::size_t most_tokens_;
  Tokenizer::Scratch scratch_;
  std::vector<std::uint32_t> ids_;
};

// The class that a label names: 1 and 1.0 are the same.
std::string class_of(std::string_view field) {
  double value = 0;
  return is_number(field, value) ? format_number(value) : std::string(trim(field));
}

bool is_before(const std::string& a, const std::string& b) {
  double x = 0, y = 0;
  return is_number(a, x) && is_number(b, y) ? x < y : a < b;
}

// Collects the classes and labels row by row.
class RowLabels {
 public:
  RowLabels(const DataFile& data, const TextColumns& columns)
      : data_(data), columns_(columns), classes_(columns.classes) {}

  void add(std::uint64_t row, std::string_view field) {
    if (is_missing(field)) {
      throw FileError(
          fmt::format("{}, row {}: the target {} is missing", data_.name(), row, in_quotes(columns_.target)));
    }
    std::string name = class_of(field);
    const auto place = std::ranges::find(classes_, name);
    labels_.push_back(static_cast<std::uint8_t>(place - classes_.begin()));
    if (place != classes_.end()) return;
    if (!columns_.classes.empty()) {
      throw FileError(fmt::format("{}, row {}: the target {} is {}, but the model knows {} and {}", data_.name(), row,
                                  in_quotes(columns_.target), in_quotes(name), in_quotes(classes_[0]),
                                  in_quotes(classes_[1])));
    }
    if (classes_.size() == 2) {
      throw InvalidArgument(fmt::format("the target {} has more than two values: {}, {} and, in row {}, {}",
                                        in_quotes(columns_.target), in_quotes(classes_[0]), in_quotes(classes_[1]), row,
                                        in_quotes(name)));
    }
    classes_.push_back(std::move(name));
  }

  // Call after the last row: sorts the classes.
  void finish() {
    if (columns_.target.empty() || !columns_.classes.empty()) return;
    if (classes_.size() < 2) {
      throw FileError(fmt::format("{}: the target {} is {} in every row: there is nothing to learn", data_.name(),
                                  in_quotes(columns_.target), in_quotes(classes_[0])));
    }
    if (is_before(classes_[0], classes_[1])) return;
    std::swap(classes_[0], classes_[1]);
    for (std::uint8_t& label : labels_) label = 1 - label;
  }

  const std::vector<std::string>& classes() const { return classes_; }
  std::size_t operator[](std::size_t row) const { return labels_[row]; }

 private:
  const DataFile& data_;
  const TextColumns& columns_;
  std::vector<std::string> classes_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace

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

TextSet read_text_files(const std::filesystem::path& source, const Tokenizer& tokenizer, std::size_t most_tokens,
                        bool with_classes) {
  const ClassFiles listed = with_classes ? list_class_files(source) : list_files(source);
  const bool by_name = std::ranges::any_of(listed.files, [](const ClassFile& file) { return is_text_name(file.name); });
  std::vector<std::vector<std::uint32_t>> tokens(listed.files.size());
  std::vector<std::string> faults(listed.files.size());
  TextEncoder encoder(tokenizer, most_tokens);
  visit_class_files(source, listed, [&](std::size_t file, std::string_view content) {
    const std::string& name = listed.files[file].name;
    if (by_name && !is_text_name(name)) {
      faults[file] = quoted_path(name) + " is not named *.txt";
    } else if (content.find('\0') != std::string_view::npos) {
      faults[file] = quoted_path(name) + " is not a text: it contains zero bytes";
    } else {
      tokens[file] = encoder.encode(content);
    }
  });
  TextSet set(listed.classes);
  for (std::size_t i = 0; i < listed.files.size(); ++i) {
    const ClassFile& file = listed.files[i];
    if (faults[i].empty()) {
      set.add(file.name, file.label, file.part, tokens[i]);
    } else {
      set.skip({file.name, faults[i]});
    }
  }
  if (set.size() == 0) {
    throw FileError(fmt::format("{} holds no text: {}", quoted_path(source), set.skipped().front().fault));
  }
  for (const SkippedFile& file : listed.elsewhere) set.skip(file);
  return set;
}

TextSet read_text_table(const DataFile& data, const TextColumns& columns, const Tokenizer& tokenizer,
                        std::size_t most_tokens) {
  if (const FormatInfo* format = find_format(data.format); format != nullptr && format->make_parser != nullptr) {
    throw InvalidArgument(fmt::format("files in the format {} have no text columns", data.format));
  }
  refuse_model(data.path);
  std::vector<std::string> wanted{columns.text};
  if (!columns.target.empty()) wanted.push_back(columns.target);
  std::vector<std::vector<std::uint32_t>> tokens;
  RowLabels labels(data, columns);
  TextEncoder encoder(tokenizer, most_tokens);
  CsvDialect dialect = data.dialect();
  dialect.asked_for = wanted;
  std::string note =
      visit_csv(data.path, dialect, wanted, [&](std::uint64_t row, std::span<const std::string_view> fields) {
        tokens.push_back(encoder.encode(fields[0]));
        if (fields.size() > 1) labels.add(row, fields[1]);
      });
  labels.finish();
  TextSet set(labels.classes());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    set.add(std::to_string(i + 1), columns.target.empty() ? 0 : labels[i], FilePart::none, tokens[i]);
  }
  set.set_header_note(std::move(note));
  return set;
}

}  // namespace ignd
