#include "train/text_task.hpp"

#include "ignd/checkpoint.hpp"
#include "models/named_network.hpp"

#include <algorithm>
#include <utility>

namespace ignd {
namespace {

std::vector<ClassTask::Labelled> labels_of(const TextSet& texts) {
  std::vector<ClassTask::Labelled> labels;
  for (std::size_t i = 0; i < texts.size(); ++i) labels.push_back({texts.label(i), texts.part(i)});
  return labels;
}

}  // namespace

void TextTask::Reader::save(Checkpoint& checkpoint) const {
  checkpoint.set("text.length", std::uint64_t{length});
  checkpoint.set("text.vocabulary", std::uint64_t{vocabulary});
  checkpoint.set("text.column", text_column);
  checkpoint.set("text.target", target_column);
}

TextTask::Reader TextTask::Reader::load(const Checkpoint& checkpoint) {
  return {.length = checkpoint.number("text.length"),
          .vocabulary = checkpoint.number("text.vocabulary"),
          .text_column = checkpoint.text("text.column"),
          .target_column = checkpoint.text("text.target")};
}

TextTask::TextTask(std::shared_ptr<const TextSet> texts, Reader reader, const ClassTaskOptions& options)
    : ClassTask(texts->classes(), labels_of(*texts), options), texts_(std::move(texts)), reader_(std::move(reader)) {
  if (!reader_.target_column.empty()) target_.name = reader_.target_column;
}

TextTask::TextTask(std::shared_ptr<const TextSet> texts, Reader reader, const std::string& positive)
    : ClassTask(texts->classes(), labels_of(*texts), positive), texts_(std::move(texts)), reader_(std::move(reader)) {}

std::unique_ptr<LearningTask> TextTask::with_split(Split split) const {
  auto other = std::make_unique<TextTask>(*this);
  other->split_ = std::move(split);
  return other;
}

std::string TextTask::model_spec(const std::string& text) const {
  return named_network(text, Shape::tokens(reader_.length, reader_.vocabulary));
}

Sample<float> TextTask::sample(std::uint32_t row, std::span<float> /*room*/) const {
  const auto tokens = texts_->tokens(row);
  return {.x = {.values = {}, .index = tokens.last(std::min(tokens.size(), reader_.length))},
          .y = target_in_units(row)};
}

std::vector<std::pair<std::string, std::string>> TextTask::options_used() const {
  auto options = ClassTask::options_used();
  options.emplace_back("length", std::to_string(reader_.length));
  return options;
}

void TextTask::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(text_model_kind));
  reader_.save(checkpoint);
}

}  // namespace ignd
