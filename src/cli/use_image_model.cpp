#include "cli/use_image_model.hpp"

#include "base/text.hpp"
#include "cli/class_predictions.hpp"
#include "cli/model_summary.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/training_data.hpp"
#include "data/class_files.hpp"
#include "data/data_file.hpp"
#include "data/image.hpp"
#include "ignd/error.hpp"
#include "learn/file_dataset.hpp"
#include "learn/image_model.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

// What a model says of the images of a source, in the order of their names. They are looked at once, and not kept.
struct Predicted {
  ClassFiles listed;
  std::vector<std::optional<double>> outputs;  // none: the file cannot be read
  std::vector<SkippedFile> skipped;
};

Predicted predict_files(const ImageModel& model, const std::string& source, bool quiet) {
  Predicted made{.listed = list_files(source), .outputs = {}, .skipped = {}};
  made.outputs.resize(made.listed.files.size());
  Trace<float> trace(*model.model);
  std::vector<float> x(image_channels * model.size.height * model.size.width);
  Progress progress("predicting", made.outputs.size(), "images", quiet);
  std::uint64_t done = 0;
  visit_class_files(source, made.listed, [&](std::size_t file, std::string_view content) {
    try {
      const Image image = decode_image(content, made.listed.files[file].name);
      scale_pixels(as_planes(resize(image, model.size)), x);
      made.outputs[file] = model.model->predict({x}, trace);
    } catch (const FileError& fault) {
      made.skipped.push_back({made.listed.files[file].name, fault.what()});
    }
    progress.update(++done);
  });
  return made;
}

}  // namespace

bool is_image_model(const Checkpoint& checkpoint) {
  return checkpoint.has("kind") && checkpoint.text("kind") == image_model_kind;
}

int predict_images(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<ImageModel>(options.model, checkpoint);
  refuse_table_options(options, "images");
  if (!options.output.empty()) check_can_save(options.output, options.data);
  const Predicted made = predict_files(model, options.data.path, false);
  if (made.skipped.size() == made.outputs.size()) {
    throw FileError(
        fmt::format("{} holds no image that can be read: {}", options.data.name(), made.skipped.front().fault));
  }
  ClassPredictions predictions(model, "file");
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    if (made.outputs[i]) predictions.add(made.listed.files[i].name, *made.outputs[i]);
  }
  predictions.write(options.output);
  warn_of_skipped(made.skipped);
  return 0;
}

int evaluate_images(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<ImageModel>(options.model, checkpoint);
  refuse_table_options(options, "images");
  check_classes(options, list_class_files(options.data.path).classes, model.target);
  std::shared_ptr<const ImageSet> images;
  try {
    images = std::make_shared<const ImageSet>(read_images(options.data.path, model.size, options.json));
  } catch (const Stopped&) {
    return interrupted_code;
  }
  warn_of_skipped(images->skipped());
  const ImageDataset task(images, model.target.classes.at(1));
  Trace<float> trace(*model.model);
  const auto& rows = task.split().test;
  const Scores quality = evaluate(task, rows, [&](const Input<float>& x) { return model.model->predict(x, trace); });
  print_evaluation(options, model, quality, rows.size(), "images");
  return 0;
}

int inspect_images(const UseOptions& options, const Checkpoint& checkpoint) {
  const auto model = load_model<ImageModel>(options.model, checkpoint);
  if (options.json) {
    summary_line(model, checkpoint).set("pixels", std::uint64_t{model.size.height}).print();
    return 0;
  }
  print_summary(model, checkpoint);
  print("  images, made {} x {} pixels\n", model.size.height, model.size.width);
  return 0;
}

}  // namespace ignd::cli
