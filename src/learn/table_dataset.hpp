#pragma once

#include "data/encoder.hpp"
#include "learn/dataset.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// What is to be learned from which rows and columns of a table.
struct DatasetOptions {
  std::string target;
  std::string loss = {};                   // empty: by the target's kind
  std::optional<std::string> weight = {};  // a column of importance weights
  bool balanced = false;                   // all classes weigh the same
  std::string positive = {};               // of two classes; empty: the larger one
  std::optional<std::string> split_by = {};
  std::optional<std::string> split_time = {};
  double validation = 0.1;
  double test = 0.1;
  std::uint64_t seed = 1;
  bool use_ids = false;        // learn from columns in which nearly every row has its own text
  bool skip_bad_rows = false;  // leave out the rows whose target, weight or time cannot be used, and count them

  std::vector<std::string> columns() const;  // that are named here
};

// Rows that are left out.
struct BadRowCount {
  std::uint64_t count = 0;
  std::string first = {};  // "row 7: the target 'y' is missing"
};

// A table made ready for a model: split, encoded, with its target and its weights. The table must outlive it.
class TableDataset final : public Dataset {
 public:
  // Throws InvalidArgument for options that cannot be used, and BadSample, with the row, for values that cannot.
  TableDataset(const Table& table, const DatasetOptions& options);
  // All rows of a table as test rows for a model that was trained on another.
  TableDataset(const Table& table, Encoder encoder, Target target, std::string loss,
               const std::optional<std::string>& weight = {}, bool skip_bad_rows = false);

  const Table& table() const { return table_; }
  const DatasetOptions& options() const { return options_; }
  const Encoder& encoder() const { return encoder_; }
  const BadRowCount& bad_rows() const { return bad_rows_; }

  // The classes that no row of a part has: nothing can be measured of them there.
  std::vector<std::string> classes_without(std::span<const std::uint32_t> part) const;

  TableDataset with_rows(Split split) const;  // as with_split
  std::unique_ptr<Dataset> with_split(Split split) const override;
  std::string model_spec(const std::string& text) const override;
  std::size_t room() const override { return encoder_.features(); }
  Sample<float> sample(std::uint32_t row, std::span<float> room) const override;
  double target_in_units(std::uint32_t row) const override;
  double row_weight(std::uint32_t row) const override;
  std::vector<std::pair<std::string, std::string>> options_used() const override;
  std::uint64_t fingerprint() const override;
  void save_reader(Checkpoint& checkpoint) const override;

 private:
  double sample_weight(std::uint32_t row, double y) const;  // with that of its class
  // Keeps the rows that nothing is wrong with. Throws BadSample where there is one and it may not be left out.
  using FaultOf = std::function<std::string(std::uint32_t row)>;
  void keep_good_rows(const FaultOf& fault_of);
  std::string common_fault(std::uint32_t row) const;
  Split split_rows(const Target& target) const;
  void fit_encoder();
  void balance_classes();
  void check_samples() const;

  const Table& table_;
  DatasetOptions options_;
  Encoder encoder_;
  std::vector<ColumnPlace> at_;  // where the encoder's columns are
  std::size_t target_column_;
  std::optional<std::size_t> weight_column_;
  std::vector<std::uint32_t> rows_;  // that can be used
  BadRowCount bad_rows_;
  std::vector<double> class_weight_;  // empty: 1 for all
};

}  // namespace ignd
