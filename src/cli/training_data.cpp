#include "cli/training_data.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/stop_signal.hpp"
#include "data/cell_format.hpp"
#include "learn/baselines.hpp"
#include "learn/file_dataset.hpp"
#include "learn/open_dataset.hpp"
#include "learn/table_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

class TableTrainingData final : public TrainingData {
 public:
  explicit TableTrainingData(std::shared_ptr<const Dataset> dataset)
      : owner_(std::move(dataset)), dataset_(dynamic_cast<const TableDataset&>(*owner_)) {}

  const Dataset& dataset() const override { return dataset_; }
  std::string samples() const override { return "rows"; }
  void print_warnings() const override;
  std::uint64_t size() const override { return table().size(); }
  std::uint64_t left_out() const override { return dataset_.bad_rows().count; }
  std::vector<std::string> details() const override;
  std::string inputs() const override { return fmt::format("{} features", dataset_.encoder().features()); }
  void describe(JsonLine& line) const override;
  std::vector<Predictor> baselines() const override { return fit_baselines(dataset_); }
  std::optional<Shape> measured_shape() const override { return std::nullopt; }
  std::string name_of(std::uint32_t row) const override { return std::to_string(row + 1); }

 private:
  const Table& table() const { return dataset_.table(); }

  // Those that are not empty.
  std::vector<std::pair<std::string, std::span<const std::uint32_t>>> measured_parts() const {
    std::vector<std::pair<std::string, std::span<const std::uint32_t>>> parts;
    if (!dataset_.split().validation.empty()) parts.emplace_back("validation", dataset_.split().validation);
    if (!dataset_.split().test.empty()) parts.emplace_back("test", dataset_.split().test);
    return parts;
  }

  std::shared_ptr<const Dataset> owner_;
  const TableDataset& dataset_;
};

// Columns of whole numbers that go up by one from row to row.
std::vector<std::string> counting_columns(const TableDataset& dataset) {
  const Table& table = dataset.table();
  constexpr std::size_t enough = 20;
  if (table.size() < enough) return {};
  std::vector<std::size_t> counting;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const Column& column = table.columns()[c];
    if (dataset.is_input(c) && column.name != dataset.options().split_time && column.kind == ColumnKind::number &&
        !column.format.is_date())
      counting.push_back(c);
  }
  for (std::size_t row = 0; row < table.size() && !counting.empty(); ++row) {
    const auto values = table[row];
    std::erase_if(counting, [&](std::size_t c) {
      const double expected = table[0][c] + static_cast<double>(row);
      return values[c] != expected || std::floor(expected) != expected;
    });
  }
  std::vector<std::string> names(counting.size());
  std::ranges::transform(counting, names.begin(), [&](std::size_t c) { return table.columns()[c].name; });
  return names;
}

// A column of numbers with a stray word among them would be learned as texts, each a thing of its own.
void TableTrainingData::print_warnings() const {
  for (const std::string& name : counting_columns(dataset_)) {
    print_error("ignd: warning: column {} counts the rows; leave it out with --drop if it is only their number\n",
                in_quotes(name));
  }
  for (std::size_t c = 0; c < table().columns().size(); ++c) {
    const Column& column = table().columns()[c];
    if (std::ranges::count(dataset_.left_out_columns(), column.name) > 0) continue;
    if (!column.doubt.empty()) {
      print_error("ignd: warning: column {} is taken for texts: {}\n", in_quotes(column.name), column.doubt);
    }
    const auto is_text = [&](const auto& label) {
      FormatGuess guess;
      guess.add(label.second);
      return !guess.is_alive();
    };
    const auto texts = static_cast<std::size_t>(std::ranges::count_if(column.labels, is_text));
    if (texts == 0 && !column.labels.empty() && column.doubt.empty()) {
      print_error(
          "ignd: warning: column {} is taken for texts: its numbers or dates are not all written in the same way\n",
          in_quotes(column.name));
    }
    if (texts == 0 || 10 * texts > column.labels.size()) continue;
    const std::string& stray = std::ranges::find_if(column.labels, is_text)->second;
    print_error("ignd: warning: column {} is taken for texts because of {}; most of its values are numbers or dates\n",
                in_quotes(column.name), in_quotes(stray));
  }
  if (const std::string text = left_out_text(dataset_); !text.empty()) print_error("ignd: warning: {}\n", text);
  for (const auto& [name, rows] : measured_parts()) {
    const std::vector<std::string> missing = dataset_.classes_without(rows);
    if (missing.empty()) continue;
    print_error("ignd: warning: no {} row has the class{} {}: nothing can be measured of {} there\n", name,
                missing.size() == 1 ? "" : "es", list_classes(missing), missing.size() == 1 ? "it" : "them");
  }
}

// The first columns, and every other one that is not simply taken as it is.
std::vector<std::string> TableTrainingData::details() const {
  constexpr std::size_t most_shown = 30;
  const auto& columns = dataset_.encoder().columns();
  std::vector<std::string> lines;
  if (!table().header_note().empty()) lines.push_back(table().header_note());
  if (const auto names = dataset_.left_out_columns(); !names.empty()) {
    lines.push_back(fmt::format("left out: {}", list_classes(names)));
  }
  std::size_t hidden = 0;
  for (const ColumnCode& code : columns) {
    const bool remarkable = code.form == ColumnCode::Form::dropped || code.format.kind != CellFormat::Kind::plain;
    if (lines.size() < most_shown || remarkable) {
      lines.push_back(fmt::format("{:<20} {}", printable(code.name), cli::describe(code)));
    } else {
      ++hidden;
    }
  }
  if (hidden > 0) lines.push_back(fmt::format("and {} more columns", hidden));
  return lines;
}

void TableTrainingData::describe(JsonLine& line) const {
  line.set("features", std::uint64_t{dataset_.encoder().features()});
  set_columns(line, dataset_.encoder().columns());
  line.set("left_out", dataset_.bad_rows().count);
  if (const auto names = dataset_.left_out_columns(); !names.empty()) line.set("left_out_columns", std::span(names));
  for (const auto& [name, rows] : measured_parts()) {
    const std::vector<std::string> missing = dataset_.classes_without(rows);
    if (!missing.empty()) line.set("unmeasured." + name, std::span<const std::string>(missing));
  }
  if (table().dialect().header) line.set("header", *table().dialect().header);
  if (!table().header_note().empty()) line.set("header_note", table().header_note());
}

// Images or texts of two classes.
struct FileData {
  std::shared_ptr<const Dataset> dataset;
  std::uint64_t size = 0;
  Shape shape;
  std::string samples;               // "images"
  std::string extent;                // what each of them has, among the events: "pixels"
  std::vector<std::string> details;  // what is read of a sample, and how
  std::vector<SkippedFile> skipped;  // by name
  std::function<std::string(std::uint32_t row)> name_of;
  const char* heading = "file";
};

class FileTrainingData final : public TrainingData {
 public:
  explicit FileTrainingData(FileData data) : data_(std::move(data)) {}

  const Dataset& dataset() const override { return *data_.dataset; }
  std::string samples() const override { return data_.samples; }
  void print_warnings() const override { warn_of_skipped(data_.skipped); }
  std::uint64_t size() const override { return data_.size; }
  std::vector<std::string> details() const override { return data_.details; }
  std::string inputs() const override { return data_.shape.text(); }
  void describe(JsonLine& line) const override;
  std::vector<Predictor> baselines() const override;
  std::optional<Shape> measured_shape() const override { return data_.shape; }
  const char* name_heading() const override { return data_.heading; }
  std::string name_of(std::uint32_t row) const override { return data_.name_of(row); }

 private:
  FileData data_;
};

void FileTrainingData::describe(JsonLine& line) const {
  std::vector<std::string> names;
  for (const SkippedFile& file : data_.skipped) names.push_back(file.name);
  line.set(data_.extent,
           std::uint64_t{data_.shape.kind == Shape::Kind::tokens ? data_.shape.size[0] : data_.shape.size[1]});
  line.set("skipped", std::span<const std::string>(names));
}

// From the labels alone: an image is large.
std::vector<Predictor> FileTrainingData::baselines() const {
  const double constant = best_constant_for_logistic([&](const RowVisitor& visit) {
    for (const std::uint32_t row : dataset().split().train) visit({}, dataset().target_in_units(row), 1);
  });
  return {{"best constant", [constant](const Input<float>&, std::span<double> outputs) { outputs[0] = constant; }}};
}

std::unique_ptr<TrainingData> image_data(std::shared_ptr<const Dataset> dataset) {
  const auto& of_images = dynamic_cast<const ImageDataset&>(*dataset);
  const ImageSet& images = of_images.images();
  const std::size_t size = images.height();
  if (!images.note().empty()) print_error("ignd: {}\n", images.note());
  return std::make_unique<FileTrainingData>(
      FileData{.dataset = dataset,
               .size = images.size(),
               .shape = of_images.shape(),
               .samples = "images",
               .extent = "pixels",
               .details = {fmt::format("made {} x {} pixels, in red, green and blue", size, size)},
               .skipped = images.skipped(),
               .name_of = [&images](std::uint32_t row) { return images.name(row); }});
}

std::unique_ptr<TrainingData> text_data(std::shared_ptr<const Dataset> dataset) {
  const auto& of_texts = dynamic_cast<const TextDataset&>(*dataset);
  const TextSet& texts = of_texts.texts();
  FileData data{.dataset = dataset,
                .size = texts.size(),
                .shape = of_texts.shape(),
                .samples = "texts",
                .extent = "tokens",
                .details = {fmt::format("the last {} tokens of each", of_texts.reader().length)},
                .skipped = texts.skipped(),
                .name_of = [&texts](std::uint32_t row) { return texts.name(row); },
                .heading = of_texts.reader().text_column.empty() ? "file" : "row"};
  if (!texts.header_note().empty()) data.details.push_back(texts.header_note());
  return std::make_unique<FileTrainingData>(std::move(data));
}

// Shows how far the decoding of images is.
class DecodingProgress {
 public:
  explicit DecodingProgress(bool quiet) : quiet_(quiet) {}
  void operator()(std::size_t done, std::size_t total) {
    if (!bar_) bar_.emplace("decoding", total, "images", quiet_);
    bar_->update(done);
  }

 private:
  bool quiet_;
  std::optional<Progress> bar_;
};

}  // namespace

std::unique_ptr<TrainingData> read_training_data(const TrainOptions& options, DataKind kind) {
  std::shared_ptr<const Dataset> dataset;
  if (kind == DataKind::images) {
    const StopSignal stop;
    DecodingProgress progress(options.quiet || options.json);
    dataset = read_dataset(options.spec, {.stop = &stop.flag(), .progress = std::ref(progress)});
  } else {
    dataset = read_dataset(options.spec);
  }
  if (kind == DataKind::table) return std::make_unique<TableTrainingData>(std::move(dataset));
  return kind == DataKind::images ? image_data(std::move(dataset)) : text_data(std::move(dataset));
}

}  // namespace ignd::cli
