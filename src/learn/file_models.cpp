#include "base/stopped.hpp"
#include "base/text.hpp"
#include "data/catalogue.hpp"
#include "data/image_cache.hpp"
#include "data/text_set.hpp"
#include "data/tokenizer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/file_dataset.hpp"
#include "learn/model_outputs.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>

#include <fmt/format.h>

namespace ignd {
namespace {

void check_classes(const DataFile& file, const std::vector<std::string>& found, const Target& target) {
  if (std::ranges::is_permutation(found, target.classes)) return;
  const std::string known = list_classes(target.classes);
  if (found.empty()) {
    throw FileError(
        fmt::format("{} has no class folders; to measure the model, put the files into {}", file.name(), known));
  }
  throw FileError(fmt::format("{} has the class{} {}; the model knows {}", file.name(), found.size() == 1 ? "" : "es",
                              list_classes(found), known));
}

Evaluation evaluate_on(const FileDataset& dataset, const Model<float>& model, const std::atomic<bool>* stop) {
  const auto& rows = dataset.split().test;
  ModelOutputs outputs_of(model);
  const OutputsOf outputs = [&](const Input<float>& x, std::span<double> out) {
    if (stop != nullptr && *stop) throw Stopped();
    outputs_of(x, out);
  };
  Evaluation made{.samples = rows.size(), .rows = rows.size()};
  made.scores = evaluate(dataset, rows, outputs, &made.judged);
  return made;
}

class ImageModel final : public RunModel {
 public:
  ImageModel(Parts parts, ImageSize size) : RunModel(std::move(parts)), size_(size) {
    const auto [height, width] = size;
    if (height > largest_image_side || width > largest_image_side) {
      throw FileError(fmt::format("its images are {} x {} pixels: that is too large", height, width));
    }
    const std::vector<float> black(image_channels * height * width);
    check_reads({black}, "its model and the size of its images do not fit together");
  }

  ModelKind kind() const override { return ModelKind::images; }
  const char* samples() const override { return "images"; }
  bool reads_table(const DataFile& /*file*/) const override { return false; }

  PredictionReport predict(const NewData& data, const OnPrediction& use) const override;
  Evaluation evaluate(const NewData& data) const override;

  Prediction predict_row(const std::map<std::string, std::string>& /*row*/) const override {
    throw InvalidArgument("the model is of images, which are files: it predicts files, not rows");
  }

 private:
  void save_reader(Checkpoint& checkpoint) const override {
    checkpoint.set("kind", std::string(image_model_kind));
    save_image_size(checkpoint, size_);
  }

  void describe_inputs(ModelDescription& description) const override {
    description.facts.emplace_back("pixels", std::uint64_t{size_.height});
    description.inputs = fmt::format("images, made {} x {} pixels", size_.height, size_.width);
  }

  ImageSize size_;
};

// Each image is decoded once and not kept. An archive has its own order, so the predictions wait for the last of them.
PredictionReport ImageModel::predict(const NewData& data, const OnPrediction& use) const {
  const ClassFiles listed = list_files(data.file.path);
  std::vector<PredictedSample> samples(listed.files.size());
  ModelOutputs outputs_of(model());
  std::vector<double> outputs(outputs_of.count());
  std::vector<float> x(image_channels * size_.height * size_.width);
  PredictionReport report;
  std::size_t done = 0;
  visit_class_files(data.file.path, listed, [&](std::size_t file, std::string_view content) {
    const std::string& name = listed.files[file].name;
    PredictedSample& sample = samples[file];
    try {
      const Image image = decode_image(content, name);
      scale_pixels(as_planes(resize(image, size_)), x);
      outputs_of({x}, outputs);
      interpret(target(), outputs, sample.prediction);
      sample.prediction.name = name;
    } catch (const FileError& fault) {
      sample.usable = false;
      report.skipped.push_back({name, fault.what()});
    }
    if (data.progress) data.progress(++done, samples.size());
  });
  if (report.skipped.size() == samples.size()) {
    throw FileError(
        fmt::format("{} holds no image that can be read: {}", data.file.name(), report.skipped.front().fault));
  }
  std::ranges::sort(report.skipped, {}, &SkippedFile::name);
  report.samples = samples.size() - report.skipped.size();
  for (const PredictedSample& sample : samples) {
    if (sample.usable && !use(sample)) break;
  }
  return report;
}

Evaluation ImageModel::evaluate(const NewData& data) const {
  check_classes(data.file, list_class_files(data.file.path).classes, target());
  const auto images = std::make_shared<const ImageSet>(
      ImageSet::open(data.file.path, size_, {.cache = {}, .progress = data.progress, .stop = data.stop}));
  Evaluation made = evaluate_on(ImageDataset(images, target(), loss()), model(), data.stop);
  made.skipped = images->skipped();
  made.note = images->note();
  return made;
}

class TextModel final : public RunModel {
 public:
  TextModel(Parts parts, TextDataset::Reader reader) : RunModel(std::move(parts)), reader_(std::move(reader)) {
    if (reader_.vocabulary == 0 || reader_.vocabulary > std::numeric_limits<std::uint32_t>::max() ||
        reader_.length == 0 || reader_.length > longest_text) {
      throw FileError(fmt::format("it reads {} tokens of each text, from a vocabulary of {}: it is damaged",
                                  reader_.length, reader_.vocabulary));
    }
    const std::vector<std::uint32_t> longest(reader_.length, static_cast<std::uint32_t>(reader_.vocabulary - 1));
    check_reads({.values = {}, .index = longest}, "its model and its texts do not fit together");
  }

  ModelKind kind() const override { return ModelKind::texts; }
  const char* samples() const override { return "texts"; }

  // A model that learned from a column reads one, unless it is given files of text.
  bool reads_table(const DataFile& file) const override {
    const bool is_text = is_text_name(file.path) && file.format.empty();
    return !reader_.text_column.empty() && !holds_files(file.path) && !is_text;
  }

  std::vector<std::string> columns() const override {
    return reader_.text_column.empty() ? std::vector<std::string>() : std::vector{reader_.text_column};
  }

  PredictionReport predict(const NewData& data, const OnPrediction& use) const override;
  Prediction predict_row(const std::map<std::string, std::string>& row) const override;
  Evaluation evaluate(const NewData& data) const override;

 private:
  void save_reader(Checkpoint& checkpoint) const override {
    checkpoint.set("kind", std::string(text_model_kind));
    reader_.save(checkpoint);
  }
  void describe_inputs(ModelDescription& description) const override;

  const Tokenizer& tokenizer() const;
  TextSet read(const DataFile& file, bool with_target) const;

  TextDataset::Reader reader_;
  mutable std::mutex loading_;
  mutable std::unique_ptr<const Tokenizer> tokenizer_;  // read when it is first needed
};

void TextModel::describe_inputs(ModelDescription& description) const {
  description.facts.emplace_back("tokens", std::uint64_t{reader_.length});
  description.facts.emplace_back("vocabulary", std::uint64_t{reader_.vocabulary});
  if (!reader_.text_column.empty()) description.facts.emplace_back("text", reader_.text_column);
  description.inputs =
      fmt::format("{}: the last {} tokens of each, of a vocabulary of {}",
                  reader_.text_column.empty() ? "files of text" : "the texts in column " + reader_.text_column,
                  reader_.length, reader_.vocabulary);
}

const Tokenizer& TextModel::tokenizer() const {
  const std::lock_guard lock(loading_);
  if (tokenizer_ != nullptr) return *tokenizer_;
  auto loaded = std::make_unique<const Tokenizer>(read_cl100k(find_data("cl100k-base")));
  if (loaded->vocabulary() != reader_.vocabulary) {
    throw FileError(fmt::format("the model knows {} tokens, but there are {}; it was trained with another vocabulary",
                                reader_.vocabulary, loaded->vocabulary()));
  }
  tokenizer_ = std::move(loaded);
  return *tokenizer_;
}

// With the classes of their folders, or of the target column, if `with_target`.
TextSet TextModel::read(const DataFile& file, bool with_target) const {
  if (!reads_table(file)) {
    if (file.path == "-") throw InvalidArgument("files of text cannot come from the standard input");
    if (is_table_name(file.path)) {
      throw FileError(fmt::format("{} is a table, but the model learned from files of one text each", file.name()));
    }
    return read_text_files(file.path, tokenizer(), reader_.length, with_target);
  }
  TextColumns columns{.text = reader_.text_column, .target = {}, .classes = {}};
  if (with_target) {
    columns.target = reader_.target_column;
    columns.classes = target().classes;
    if (!target().is_class()) columns.numbers = target().format;
  }
  try {
    return read_text_table(file, columns, tokenizer(), reader_.length);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", file.name(), fault.what()));
  }
}

PredictionReport TextModel::predict(const NewData& data, const OnPrediction& use) const {
  const TextSet texts = read(data.file, false);
  ModelOutputs outputs_of(model());
  std::vector<double> outputs(outputs_of.count());
  PredictedSample sample;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    sample.prediction.name = texts.name(i);
    outputs_of({.values = {}, .index = texts.tokens(i)}, outputs);
    interpret(target(), outputs, sample.prediction);
    if (!use(sample)) break;
  }
  return {.samples = texts.size(), .skipped = texts.skipped()};
}

Prediction TextModel::predict_row(const std::map<std::string, std::string>& row) const {
  if (reader_.text_column.empty()) {
    throw InvalidArgument("the model is of texts in files: it predicts files, not rows");
  }
  check_row(row);
  std::vector<std::uint32_t> tokens;
  Tokenizer::Scratch scratch;
  tokenizer().encode(row.at(reader_.text_column), tokens, scratch);
  ModelOutputs outputs_of(model());
  std::vector<double> outputs(outputs_of.count());
  const auto last = std::span(std::as_const(tokens)).last(std::min(tokens.size(), reader_.length));
  outputs_of({.values = {}, .index = last}, outputs);
  Prediction made;
  interpret(target(), outputs, made);
  return made;
}

Evaluation TextModel::evaluate(const NewData& data) const {
  const auto texts = std::make_shared<const TextSet>(read(data.file, true));
  if (target().is_class()) check_classes(data.file, texts->classes(), target());
  if (!target().is_class() && texts->target() == nullptr) {
    throw FileError(fmt::format("{} has no numbers to compare with; give a table with the columns {} and {}",
                                data.file.name(), in_quotes(reader_.text_column), in_quotes(target().name)));
  }
  Evaluation made = evaluate_on(TextDataset(texts, reader_, target(), loss()), model(), data.stop);
  made.skipped = texts->skipped();
  return made;
}

}  // namespace

std::unique_ptr<TrainedModel> load_image_model(const Checkpoint& checkpoint) {
  return std::make_unique<ImageModel>(RunModel::Parts::load(checkpoint), load_image_size(checkpoint));
}

std::unique_ptr<TrainedModel> load_text_model(const Checkpoint& checkpoint) {
  return std::make_unique<TextModel>(RunModel::Parts::load(checkpoint), TextDataset::Reader::load(checkpoint));
}

}  // namespace ignd
