#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/model.hpp"

#include <vector>

namespace ignd {

// A batch for any model of one output: its samples go through the model one after the other, each with a trace of its
// own.
template <class T>
class OneByOneBatch final : public Batch<T> {
 public:
  OneByOneBatch(const Model<T>& model, std::size_t size);

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override;
  const BatchSensitivity<T>& sensitivities() override;
  const BatchSensitivity<T>& combined(std::span<const T> factors) override;

 private:
  // The inputs and deltas of a dense layer, one column for each sample; empty for blocks of other forms.
  struct Columns {
    AlignedVector<T> u, v;
  };

  void add_block(const Block<T>& block);
  void take(const Block<T>& block, std::size_t sample, std::size_t which);

  const Model<T>& model_;
  std::vector<Trace<T>> traces_;
  std::vector<T> outputs_;
  std::span<const Input<T>> x_;
  std::vector<Columns> columns_;
  BatchSensitivity<T> j_;
};

}  // namespace ignd
