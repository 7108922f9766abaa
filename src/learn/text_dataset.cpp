#include "learn/text_dataset.hpp"

#include "ignd/checkpoint.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <utility>

namespace ignd {
namespace {

std::vector<ClassDataset::Labelled> labels_of(const TextSet& texts) {
  std::vector<ClassDataset::Labelled> labels;
  for (std::size_t i = 0; i < texts.size(); ++i) labels.push_back({texts.label(i), texts.part(i)});
  return labels;
}

}  // namespace

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

std::string TextDataset::model_spec(const std::string& text) const {
  return named_network(text, Shape::tokens(reader_.length, reader_.vocabulary));
}

Sample<float> TextDataset::sample(std::uint32_t row, std::span<float> /*room*/) const {
  const auto tokens = texts_->tokens(row);
  return {.x = {.values = {}, .index = tokens.last(std::min(tokens.size(), reader_.length))},
          .y = target_in_units(row)};
}

std::vector<std::pair<std::string, std::string>> TextDataset::options_used() const {
  auto options = ClassDataset::options_used();
  options.emplace_back("length", std::to_string(reader_.length));
  return options;
}

void TextDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(text_model_kind));
  reader_.save(checkpoint);
}

}  // namespace ignd
