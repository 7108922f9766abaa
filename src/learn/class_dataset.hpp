#pragma once

#include "data/class_files.hpp"
#include "learn/dataset.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// Samples of two classes, which do not come from a table.
class ClassDataset : public Dataset {
 public:
  std::size_t size() const { return labels_.size(); }
  double target_in_units(std::uint32_t row) const override { return labels_[row]; }
  double row_weight(std::uint32_t /*row*/) const override { return 1; }
  std::vector<std::pair<std::string, std::string>> options_used() const override;

  struct Labelled {
    std::size_t label = 0;
    FilePart part = FilePart::none;
  };

 protected:
  // Where some samples are said to be for the test, they are those measured on, and a share of the others chooses.
  // Throws InvalidArgument unless there are two classes and samples for every part.
  ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples,
               const DatasetOptions& options);
  // All samples are there to be measured on, or those that are said to be for the test.
  ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples, const std::string& positive);

 private:
  struct Known {
    std::vector<std::uint32_t> test, others;
  };
  Known take(const std::vector<std::string>& classes, std::span<const Labelled> samples, const std::string& positive);

  DatasetOptions options_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace ignd
