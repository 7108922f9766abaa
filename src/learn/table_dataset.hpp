#pragma once

#include "data/encoder.hpp"
#include "ignd/samples.hpp"
#include "learn/dataset.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// Rows that are left out.
struct BadRowCount {
  std::uint64_t count = 0;
  std::string first = {};  // "row 7: the target 'y' is missing"
};

// How another table was made ready, for one that is learned further from.
struct KnownInputs {
  Encoder encoder;
  Target target;
  std::string loss;
};

// A table made ready for a model: split, encoded, with its target and its weights. The table must outlive it.
class TableDataset final : public Dataset {
 public:
  // Throws InvalidArgument for options that cannot be used, and BadSample, with the row, for values that cannot.
  // With known inputs, nothing of the table decides what its columns become.
  TableDataset(const Table& table, const DatasetOptions& options, const KnownInputs* known = nullptr);
  // All rows of a table as test rows for a model that was trained on another.
  TableDataset(const Table& table, Encoder encoder, Target target, std::string loss,
               const std::optional<std::string>& weight = {}, bool skip_bad_rows = false);

  const Table& table() const { return table_; }
  const Encoder& encoder() const { return encoder_; }
  const BadRowCount& bad_rows() const { return bad_rows_; }

  bool is_input(std::size_t column) const;            // or has the user left it out, or is it something else?
  std::vector<std::string> left_out_columns() const;  // by the options

  // The classes that no row of a part has: nothing can be measured of them there.
  std::vector<std::string> classes_without(std::span<const std::uint32_t> part) const;

  TableDataset with_rows(Split split) const;  // as with_split
  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t scratch_size() const override { return packed_ ? 0 : encoder_.features(); }
  Sample<float> sample(std::uint32_t row, std::span<float> scratch) const override;
  double target_in_units(std::uint32_t row) const override;
  double row_weight(std::uint32_t row) const override;
  bool is_weighted() const override { return weight_column_.has_value() || !class_weight_.empty(); }
  double target_deviation() const override { return target_deviation_; }
  bool rows_are_exchangeable() const override {
    return !options_.split_by && !options_.split_time && options_.last_validation == 0;
  }
  std::vector<std::uint64_t> groups_of(std::span<const std::uint32_t> rows) const override;
  std::size_t bytes() const override;
  std::uint64_t fingerprint() const override;
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  double sample_weight(std::uint32_t row, double y) const;  // with that of its class
  // Keeps the rows that nothing is wrong with. Throws BadSample where there is one and it may not be left out.
  using FaultOf = std::function<std::string(std::uint32_t row)>;
  void keep_good_rows(const FaultOf& fault_of);
  std::string common_fault(std::uint32_t row) const;
  Split split_rows(const Target& target) const;
  void multiply_target();
  void fit_encoder();
  void draw_factors();
  void balance_classes();
  void check_samples() const;
  void pack();
  Sample<float> encoded(std::uint32_t row, std::span<float> x) const;

  const Table& table_;
  Encoder encoder_;
  std::vector<ColumnPlace> at_;  // where the encoder's columns are
  std::size_t target_column_;
  std::optional<std::size_t> weight_column_;
  std::vector<std::uint32_t> rows_;  // that can be used
  BadRowCount bad_rows_;
  std::vector<double> class_weight_;  // empty: 1 for all
  std::vector<float> factors_;        // of the features; empty: 1 for all
  double target_deviation_ = 1;
  // Every row, encoded once and shared with the copies that have another split. None where that takes too much memory:
  // then rows are encoded whenever they are needed.
  std::shared_ptr<const Samples<float>> packed_;
};

}  // namespace ignd
