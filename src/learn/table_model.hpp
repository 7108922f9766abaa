#pragma once

#include "data/encoder.hpp"
#include "learn/trained_model.hpp"

#include <string>

namespace ignd {

// The kind of a model file.
inline constexpr const char* table_model_kind = "table model";

// A model of a table's rows.
class TableModel final : public RunModel {
 public:
  TableModel(Parts parts, Encoder encoder) : RunModel(std::move(parts)), encoder_(std::move(encoder)) {}

  // Throws FileError for a checkpoint without such a model, or with one that does not fit together.
  static TableModel load(const Checkpoint& checkpoint);

  ModelKind kind() const override { return ModelKind::table; }
  std::vector<std::string> columns() const override;
  PredictionReport predict(const NewData& data, const OnPrediction& use) const override;
  Prediction predict_row(const std::map<std::string, std::string>& row) const override;
  Evaluation evaluate(const NewData& data) const override;

  const Encoder& encoder() const { return encoder_; }
  TableOptions reading_rules() const;  // of a table to predict

  // The inputs of the model for the rows of a frame and, if it has the target's column, what is learned for them.
  EncodedRows encode(const Frame& frame) const;

 private:
  void save_reader(Checkpoint& checkpoint) const override;
  void describe_inputs(ModelDescription& description) const override;
  Table read(const NewData& data, bool with_target) const;
  PredictionReport predict_table(const Table& table, std::span<const ColumnPlace> at, const OnPrediction& use) const;

  Encoder encoder_;
};

}  // namespace ignd
