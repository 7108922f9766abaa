#pragma once

#include "base/pinned.hpp"
#include "ignd/checkpoint.hpp"
#include "learn/stream_input.hpp"
#include "learn/stream_learner.hpp"
#include "learn/trained_model.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// The kind of a model file.
inline constexpr const char* stream_model_kind = "stream model";

// What `ignd train --stream` saves: a learner, and how its examples are read. It can go on learning, so that only one
// thread at a time may use it meanwhile.
class StreamModel final : public TrainedModel, Pinned {
 public:
  // A new one. Reads no data. Throws InvalidArgument with every fault of the options.
  StreamModel(std::string target, std::string weight, StreamOptions options);
  explicit StreamModel(const Checkpoint& checkpoint, bool skip_bad_rows = false);  // throws FileError
  // The same from the file `path`, which messages name.
  static StreamModel load(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows = false);
  // To predict with: a run that was interrupted early may hold examples back; it has learned them now.
  static std::unique_ptr<TrainedModel> load_finished(const Checkpoint& checkpoint);

  ModelKind kind() const override { return ModelKind::stream; }
  const std::string& target_name() const override { return input_.target; }
  std::vector<std::string> classes() const override;  // "?" is one that has not been seen
  std::string loss() const override { return learner_.loss(); }
  std::string spec() const override { return learner_.model_spec(); }
  std::vector<std::string> columns() const override { return input_.features; }
  ModelDescription describe(const Checkpoint& file) const override;
  void save(Checkpoint& checkpoint) const override;
  PredictionReport predict(const NewData& data, const OnPrediction& use) const override;
  Prediction predict_row(const std::map<std::string, std::string>& row) const override;
  Evaluation evaluate(const NewData& data) const override;
  Explanation explain(const NewData& data, const ExplainOptions& options) const override;

  // Sets what the learner's prediction means to a user.
  void interpret(const StreamPrediction& made, Prediction& prediction) const;

  const StreamInput& input() const { return input_; }
  const StreamLearner& learner() const { return learner_; }
  StreamLearner& learner() { return learner_; }

  // Whether the reader settings are fixed: by a file, or by first examples.
  bool has_settings() const { return has_settings_; }
  void check_has_settings() const;  // throws InvalidArgument

  struct Reading {
    unsigned threads = 0;   // 0: as many as are useful
    int interruption = -1;  // a descriptor: once it is readable, waiting for input ends the stream
  };
  // Opens data to learn from. The first data fix the reader settings; later data are read in the same way. The reader
  // lives until the next call, or close(). Throws FileError or InvalidArgument, and changes nothing.
  ExampleReader& open(const DataFile& data, const Reading& reading);
  void close();

  // Fixes the reader settings by examples that come from no file.
  void set_columns(std::vector<std::string> features, bool text_target);
  // What a label of the next example stands for.
  void set_next_label(double label, std::string text) { next_label_ = {label, std::move(text)}; }
  void remember_class(double label) { input_.classes.try_emplace(label, label_name(label)); }

  // As it stands in the data; "?" if no such label has been seen.
  std::string label_name(double label) const;

  // Where learning stands: after a line of the data, or 0 at their end. Call this before save().
  void set_progress(std::uint64_t last_line, std::optional<WrittenPredictions> predictions = std::nullopt);
  void save_reader(Checkpoint& checkpoint) const;  // the kind and the reader settings alone

 private:
  template <class Use>
  void for_each_prediction(const NewData& data, ExampleReader& reader, const Use& use) const;
  std::unique_ptr<ExampleReader> open_new(const NewData& data, CsvColumns columns) const;
  void interpret_many(const StreamPrediction& made, Prediction& prediction) const;
  void name_labels();
  void remember_classes();

  StreamInput input_;
  bool has_settings_ = false;
  StreamLearner learner_;
  std::unique_ptr<ExampleReader> reader_;  // of the data that are being learned
  std::pair<double, std::string> next_label_;
};

}  // namespace ignd
