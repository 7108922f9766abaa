#include "lab/classification_task.hpp"

#include "base/text.hpp"
#include "data/catalogue.hpp"
#include "data/tokenizer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/network.hpp"
#include "lab/step_cost.hpp"
#include "learn/image_dataset.hpp"
#include "learn/run.hpp"
#include "learn/text_dataset.hpp"
#include "models/model_specs.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;
using Clock = std::chrono::steady_clock;

constexpr const char* texts_name = "imdb";

// What is reserved of the samples to learn from, and of those without a test set of their own.
constexpr double validation_share = 0.1;
constexpr double test_share = 0.1;

bool reads_texts(const Settings& settings) { return settings.word("data") == texts_name; }

std::string network_of(const Settings& settings) {
  const std::string& model = settings.word("model");
  if (!model.empty()) return model;
  return reads_texts(settings) ? "lstm:128x128" : "cnn:32,64,128/128,64";
}

// As a data set has them, before anything is left out.
struct Sizes {
  double train = 0, validation = 0, test = 0;
};

Sizes sizes_of(const Settings& settings) {
  const double known = reads_texts(settings) ? 25'000 : settings.word("data") == "cats-vs-dogs" ? 25'000 : 3'000;
  if (reads_texts(settings)) return {known * (1 - validation_share), known * validation_share, known};
  return {known * (1 - validation_share - test_share), known * validation_share, known * test_share};
}

// Read once, by whoever comes first, and shared.
template <class Set, class Read>
std::shared_ptr<const Set> shared_set(const std::string& key, const Read& read) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Set>> sets;
  const std::lock_guard lock(mutex);
  auto& set = sets[key];
  if (set == nullptr) set = std::make_shared<const Set>(read());
  return set;
}

std::unique_ptr<Dataset> whole_task(const Settings& settings, std::uint64_t seed) {
  const ClassDatasetOptions options{.validation = validation_share, .test = test_share, .seed = seed};
  const std::string& data = settings.word("data");
  if (reads_texts(settings)) {
    const std::size_t length = settings.count("length");
    auto texts = shared_set<TextSet>(fmt::format("{} {}", data, length), [&] {
      return read_text_files(find_data(data), read_cl100k(find_data("cl100k-base")), length);
    });
    return std::make_unique<TextDataset>(
        std::move(texts),
        TextDataset::Reader{.length = length, .vocabulary = cl100k_vocabulary, .text_column = "", .target_column = ""},
        options);
  }
  const std::size_t size = settings.count("size");
  auto images = shared_set<ImageSet>(fmt::format("{} {}", data, size), [&] {
    return ImageSet::open(find_data(data), {size, size});
  });
  return std::make_unique<ImageDataset>(std::move(images), options);
}

void keep_first(std::vector<std::uint32_t>& rows, std::uint64_t count, std::uint64_t seed, const char* part) {
  if (count == 0 || count >= rows.size()) return;
  RandomStream(seed, part).shuffle(rows);
  rows.resize(count);
}

bool is_measured_on_validation(const Settings& settings) { return settings.word("measured-on") == "validation"; }

// The whole data set, or as many samples of each part as the settings ask for.
std::unique_ptr<Dataset> task_of(const Settings& settings, std::uint64_t seed) {
  auto task = whole_task(settings, seed);
  Split split = task->split();
  keep_first(split.train, settings.count("train"), seed, "some to learn from");
  keep_first(split.validation, settings.count("validation"), seed, "some to choose by");
  keep_first(split.test, settings.count("test"), seed, "some to be measured on");
  if (is_measured_on_validation(settings)) split.test = split.validation;
  return task->with_split(std::move(split));
}

RunOptions options_of(const RunConfig& config) {
  RunOptions options;
  options.model = network_of(config.settings);
  options.optimizer = config.optimizer;
  options.rate = config.rate;
  options.schedule = config.settings.word("schedule");
  options.epochs = config.settings.count("epochs");
  options.patience = options.epochs;
  options.keep_last = true;
  options.seed = config.seed;
  return options;
}

// A run with its curve, which can be interrupted and gone on with.
class ClassificationRun {
 public:
  ClassificationRun(const RunConfig& config, const RunControl& control)
      : control_(control),
        task_(task_of(config.settings, config.seed)),
        run_(*task_, options_of(config)),
        on_validation_(is_measured_on_validation(config.settings)),
        some_test_(task_->split().test),
        points_(config.settings.count("points") * config.settings.count("epochs")) {
    keep_first(some_test_, task_->split().validation.size(), config.seed, "test samples of the curve");
    std::error_code ignored;
    if (!control.unfinished().empty() && std::filesystem::exists(control.unfinished(), ignored)) restore();
  }

  RunResult run() {
    if (result_.x.empty()) look({});
    while (run_.status() == TrainingStatus::running) {
      const std::uint64_t next = run_.to_learn() * result_.x.size() / points_;
      const auto epoch = run_.learn_epoch(
          control_.stop(), [&] { note_progress(); }, next);
      if (!epoch && control_.stop()) stop();  // the point of an epoch that is over is noted first
      if (run_.status() == TrainingStatus::diverged) return failed(RunStatus::diverged);
      if (run_.learned() < next) continue;
      look(epoch ? std::optional(epoch->validation) : std::nullopt);
      // Not by `epoch`: a run that was stopped while it looked has forgotten it.
      const bool ends_epoch = run_.learned() % task_->split().train.size() == 0;
      if (ends_epoch && has_collapsed()) return failed(RunStatus::collapsed);
    }
    return finish();
  }

 private:
  Scores quality_on(std::span<const std::uint32_t> rows) const {
    const auto model = run_.last();
    Trace<float> trace(*model);
    return evaluate(*task_, rows, [&](const Input<float>& x) {
      if (control_.stop()) stop();
      return model->predict(x, trace);
    });
  }

  static double accuracy_of(const Scores& quality) {
    return quality.classification ? quality.classification->accuracy : 0;
  }

  // A point of the curves. A test set may be as large as what is learned from: until the end, no more of it is looked
  // at than of the validation samples.
  void look(const std::optional<Scores>& measured) {
    const Scores validation = measured ? *measured : quality_on(task_->split().validation);
    const bool over = run_.status() != TrainingStatus::running;
    const Scores test = on_validation_ ? validation : quality_on(over ? task_->split().test : some_test_);
    validation_ = validation;
    test_ = test;
    result_.x.push_back(static_cast<double>(run_.learned()) / static_cast<double>(task_->split().train.size()));
    result_.y.push_back(accuracy_of(test));
    if (!on_validation_) result_.validation_y.push_back(accuracy_of(validation));
  }

  void note_progress() {
    control_.set_share(static_cast<double>(run_.learned()) / static_cast<double>(run_.to_learn()));
    constexpr std::chrono::minutes pause(3);
    if (Clock::now() - saved_ >= pause) save();
  }

  void save() const {
    saved_ = Clock::now();
    if (control_.unfinished().empty()) return;
    Checkpoint checkpoint;
    run_.save(checkpoint);
    checkpoint.set("curve.points", std::uint64_t{result_.x.size()});
    checkpoint.set("curve.x", std::span<const double>(result_.x));
    checkpoint.set("curve.test", std::span<const double>(result_.y));
    checkpoint.set("curve.validation", std::span<const double>(result_.validation_y));
    checkpoint.write(control_.unfinished());
  }

  void restore() {
    const Checkpoint checkpoint = Checkpoint::read(control_.unfinished());
    if (!checkpoint.has("curve.test")) {
      throw FileError(fmt::format(
          "{} is of a run that an earlier version began, without its test curve; remove the file to begin it anew",
          quoted_path(control_.unfinished())));
    }
    run_.restore(checkpoint);
    const std::size_t points = checkpoint.number("curve.points");
    result_.x = checkpoint.array<double>("curve.x", points);
    result_.y = checkpoint.array<double>("curve.test", points);
    result_.validation_y = checkpoint.array<double>("curve.validation", on_validation_ ? 0 : points);
    control_.set_share(static_cast<double>(run_.learned()) / static_cast<double>(run_.to_learn()));
  }

  [[noreturn]] void stop() const {
    save();
    throw RunStopped();
  }

  RunResult failed(RunStatus status) {
    result_.status = status;
    result_.failed_at = run_.learned();
    return std::move(result_);
  }

  // Whatever it sees, it says the same: units that no input reaches any more do not come back.
  bool has_collapsed() const {
    constexpr double same = 1e-6;  // of the deviation of two classes
    return validation_.classification && validation_.deviation < same * 0.5;
  }

  RunResult finish() {
    if (result_.x.size() <= points_) look({});  // it was stopped while it looked for the last time
    if (!validation_.classification) return failed(RunStatus::diverged);
    if (has_collapsed()) return failed(RunStatus::collapsed);
    result_.validation = validation_.classification->accuracy;
    if (!test_.classification) return failed(RunStatus::diverged);
    result_.score = test_.classification->accuracy;
    result_.extras = {{"log-loss", test_.classification->log_loss}, {"validation", *result_.validation}};
    return std::move(result_);
  }

  const RunControl& control_;
  std::unique_ptr<Dataset> task_;
  Run run_;
  bool on_validation_;                    // the score is that of the validation samples, and there is no other curve
  std::vector<std::uint32_t> some_test_;  // of the test samples, for all points of the curve but the last
  std::uint64_t points_;
  RunResult result_;
  Scores validation_, test_;  // at the last point
  mutable Clock::time_point saved_ = Clock::now();
};

class ClassificationTask final : public Task {
 public:
  std::string name() const override { return "classification"; }
  std::string meaning() const override {
    return "A network that learns two classes of images or texts, one sample at a time, with the logistic loss. The "
           "score is the accuracy on the test samples at the last iterate, and the curve that over the epochs: on as "
           "many "
           "test samples as there are to choose by, drawn once for each seed, and in the end on all. Another curve is "
           "that of the samples to choose by. IMDB keeps its own test set. Runs that are interrupted go on where they "
           "were.";
  }
  std::span<const SettingKey> keys() const override;
  std::vector<Column> columns() const override {
    return {{"log-loss", "mean logistic loss on the test samples"},
            {"validation", "accuracy on the validation samples"}};
  }
  bool validates() const override { return true; }
  std::vector<std::string> faults(const Settings& settings) const override;
  std::string missing(const Settings& settings) const override;
  double cost(const RunConfig& config) const override;
  bool measures_cost() const override { return true; }
  bool resumes() const override { return true; }
  RunResult run(const RunConfig& config, const RunControl& control) const override {
    return ClassificationRun(config, control).run();
  }
};

std::span<const SettingKey> ClassificationTask::keys() const {
  static const std::vector<SettingKey> keys{
      {"data", Kind::word, texts_name, 0, 0, {texts_name, "cats-vs-dogs-3000", "cats-vs-dogs"}, "the data set"},
      {"model",
       Kind::word,
       "",
       0,
       0,
       {},
       "the network, as `ignd train --model` takes it; if none is given the paper's: lstm:128x128 or "
       "cnn:32,64,128/128,64"},
      {"length", Kind::count, "256", 1, 100'000, {}, "tokens of a text that are read: the last ones"},
      {"size", Kind::count, "224", 1, 4096, {}, "pixels that an image is high and wide"},
      {"train", Kind::count, "0", 0, 1e9, {}, "samples to learn from; 0: all, less a tenth to choose by"},
      {"validation", Kind::count, "0", 0, 1e9, {}, "samples to choose by; 0: all of that tenth"},
      {"test", Kind::count, "0", 0, 1e9, {}, "samples to be measured on; 0: all"},
      {"measured-on",
       Kind::word,
       "test",
       0,
       0,
       {"test", "validation"},
       "the part of the score; validation where set-ups are chosen, so that no test sample is looked at"},
      {"epochs", Kind::count, "1", 1, 1e6, {}, "passes over the samples, each in another order"},
      {"schedule", Kind::word, "constant", 0, 0, {"constant", "cosine"}, "of the learning rate"},
      {"points", Kind::count, "4", 1, 1000, {}, "points of the curve for each epoch"},
  };
  return keys;
}

Shape input_of(const Settings& settings) {
  if (reads_texts(settings)) return Shape::tokens(settings.count("length"), cl100k_vocabulary);
  return Shape::image(image_channels, settings.count("size"), settings.count("size"));
}

std::vector<std::string> ClassificationTask::faults(const Settings& settings) const {
  try {
    check_network(named_network(network_of(settings), input_of(settings)));
    return {};
  } catch (const InvalidArgument& fault) {
    return {fault.what()};
  }
}

std::string ClassificationTask::missing(const Settings& settings) const {
  std::vector<std::string> needed{settings.word("data")};
  if (reads_texts(settings)) needed.emplace_back("cl100k-base");
  for (const std::string& name : needed) {
    const DataSet& set = find_data_set(name);
    const DataPlace place = look_for_data(set);
    if (place.path.empty()) return absence_of(set, place);
  }
  return "";
}

double ClassificationTask::cost(const RunConfig& config) const {
  const Settings& settings = config.settings;
  const Shape input = input_of(settings);
  const StepCost cost = measured_cost(named_network(network_of(settings), input), input, config.optimizer);
  const Sizes whole = sizes_of(settings);
  const auto used = [&](const char* part, double all) {
    const auto asked = static_cast<double>(settings.count(part));
    return asked == 0 ? all : std::min(asked, all);
  };
  const auto epochs = static_cast<double>(settings.count("epochs"));
  const double looks = epochs * static_cast<double>(settings.count("points")) + 1;
  const double validation = used("validation", whole.validation);
  double test = 0;
  if (!is_measured_on_validation(settings)) {
    test = used("test", whole.test);
    test += (looks - 1) * std::min(test, validation);
  }
  return epochs * used("train", whole.train) * cost.step + (looks * validation + test) * cost.prediction;
}

}  // namespace

const Task& classification_task() {
  static const ClassificationTask task;
  return task;
}

}  // namespace ignd
