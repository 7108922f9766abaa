#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ignd {

// The linear algebra of an exact step on the sensitivities J of a batch, block by block, each in its own form. Memory
// is allocated once, for the largest batch.
template <class T>
class BatchAlgebra {
 public:
  // `whole`: the Gram matrix of all rows will be needed, not only those of single samples.
  BatchAlgebra(std::size_t most_samples, std::size_t most_per_sample, bool whole);

  // The upper triangle of J D^T, rows x rows and symmetric, where D = J or, under a preconditioner, J P.
  void gram(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d, std::span<double> out);

  // The same for each sample alone: per_sample x per_sample numbers, sample by sample. With one row per sample, the
  // squared norms of the rows.
  void gram_of_samples(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d, std::span<double> out);

  // w += factor D^T z
  void add(const BatchSensitivity<T>& d, std::span<const T> z, T factor, std::span<T> w);

  // D^T z as a direction for a transform, valid until the next call: all weights of dense layers, and of tables the
  // rows that any sample has read.
  const Sensitivity<T>& sum(const BatchSensitivity<T>& d, std::span<const T> z);

 private:
  // A row of a table that a row of J has.
  struct Part {
    std::uint32_t index;
    std::uint32_t row;
    const T* at;
  };
  struct Union {
    std::vector<Part> parts;
    std::vector<std::uint32_t> index;
    AlignedVector<T> rows;
  };

  void add_own_gram(const OuterBatch<T>& a, const OuterBatch<T>& b, std::size_t sample, std::size_t n,
                    std::span<double> out);
  void weigh(const OuterBatch<T>& block, std::size_t samples, std::size_t per_sample, std::span<const T> z);
  void add_outer(const OuterBatch<T>& block, std::size_t samples, std::size_t per_sample, std::span<const T> z,
                 T factor, T* out, bool add);
  void multiply_outer(const OuterBatch<T>& block, std::size_t samples, T factor, T* out, bool add);
  void sum_rows(const RowsBatch<T>& block, std::span<const T> z, Union& all);

  AlignedVector<T> of_u_, of_v_;  // the two factors of a dense layer's Gram matrix
  AlignedVector<T> weighted_;     // v weighted by z and summed over a sample's rows, samples x units
  AlignedVector<T> some_rows_;    // of a layer's weights: those that a block has
  std::vector<AlignedVector<T>> written_;
  std::vector<Union> unions_;
  Sensitivity<T> direction_;
};

}  // namespace ignd
