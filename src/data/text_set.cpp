#include "data/text_set.hpp"

#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/csv.hpp"
#include "data/example_reader.hpp"
#include "data/table.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"
#include "ignd/frame.hpp"

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

// Collects the fields of the target row by row, and the classes where there are two or they are known.
class RowTargets {
 public:
  RowTargets(const DataFile& data, const TextColumns& columns)
      : data_(data), columns_(columns), classes_(columns.classes) {}

  void add(std::uint64_t row, std::string_view field) {
    if (is_missing(field)) {
      throw FileError(
          fmt::format("{}, row {}: the target {} is missing", data_.name(), row, in_quotes(columns_.target)));
    }
    const bool known = !columns_.classes.empty();
    if (!known) fields_.emplace_back(field);
    if (!has_classes()) return;
    std::string name = class_of(field);
    const auto place = std::ranges::find(classes_, name);
    labels_.push_back(static_cast<std::size_t>(place - classes_.begin()));
    if (place != classes_.end()) return;
    if (known) {
      throw FileError(fmt::format("{}, row {}: the target {} is {}, but the model knows {}", data_.name(), row,
                                  in_quotes(columns_.target), in_quotes(name), known_classes()));
    }
    classes_.push_back(std::move(name));
  }

  // Call after the last row: sorts the classes. Returns the column, unless the classes were known.
  std::shared_ptr<const Table> finish() {
    if (columns_.target.empty() || !columns_.classes.empty()) return nullptr;
    if (classes_.size() < 2 && !columns_.numbers) {
      throw FileError(fmt::format("{}: the target {} is {} in every row: there is nothing to learn", data_.name(),
                                  in_quotes(columns_.target), in_quotes(classes_[0])));
    }
    if (has_classes() && classes_.size() == 2 && !is_before(classes_[0], classes_[1])) {
      std::swap(classes_[0], classes_[1]);
      for (std::size_t& label : labels_) label = 1 - label;
    }
    return std::make_shared<const Table>(target_table());
  }

  bool has_classes() const { return !columns_.classes.empty() || classes_.size() <= 2; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::size_t operator[](std::size_t row) const { return labels_[row]; }

 private:
  std::string known_classes() const {
    constexpr std::size_t most = 5;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < std::min(classes_.size(), most); ++k) names.push_back(in_quotes(classes_[k]));
    if (classes_.size() == 2) return names[0] + " and " + names[1];
    return join(names, ", ") + (classes_.size() > most ? fmt::format(" and {} more", classes_.size() - most) : "");
  }

  Table target_table() {
    Frame frame{.rows = fields_.size(), .columns = {}};
    frame.columns.emplace_back(columns_.target, std::make_shared<TextColumn>(std::move(fields_)));
    TableOptions options;
    if (columns_.numbers) options.formats[columns_.target] = *columns_.numbers;
    try {
      return Table::of_frame(frame, options);
    } catch (const BadSample& fault) {
      throw FileError(fmt::format("{}, {}", data_.name(), fault.what()));
    }
  }

  const DataFile& data_;
  const TextColumns& columns_;
  std::vector<std::string> classes_;
  std::vector<std::size_t> labels_;
  std::vector<std::string> fields_;
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
  for (std::size_t row = 0; classes_.empty() && target_ && row < target_->size(); ++row) {
    const double value = (*target_)[row][0];
    hash = XXH3_64bits_withSeed(&value, sizeof(value), hash);
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
  RowTargets targets(data, columns);
  TextEncoder encoder(tokenizer, most_tokens);
  CsvDialect dialect = data.dialect();
  dialect.asked_for = wanted;
  std::string note =
      visit_csv(data.path, dialect, wanted, [&](std::uint64_t row, std::span<const std::string_view> fields) {
        tokens.push_back(encoder.encode(fields[0]));
        if (fields.size() > 1) targets.add(row, fields[1]);
      });
  const bool has_classes = !columns.target.empty() && targets.has_classes();
  std::shared_ptr<const Table> target = targets.finish();
  TextSet set(has_classes ? targets.classes() : std::vector<std::string>());
  set.set_target(std::move(target));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    set.add(std::to_string(i + 1), has_classes ? targets[i] : 0, FilePart::none, tokens[i]);
  }
  set.set_header_note(std::move(note));
  return set;
}

}  // namespace ignd
