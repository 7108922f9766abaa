#include "core/batch_algebra.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace ignd {
namespace {

// The upper triangle of the symmetric out (columns x columns) = a^T b.
template <class T>
void transposed_product(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t rows,
                        std::size_t columns, T* out) {
  kernels::table<T>().product({.rows = columns,
                               .depth = rows,
                               .columns = columns,
                               .a = a,
                               .a_row_stride = 1,
                               .a_column_stride = a_stride,
                               .b = b,
                               .b_stride = b_stride,
                               .out = out,
                               .out_stride = columns,
                               .upper = true});
}

template <class T>
double dot(std::span<const T> a, std::span<const T> b) {
  return kernels::table<T>().dot(a.data(), b.data(), a.size());
}

template <class T>
double product(const DenseBatch<T>& a, const DenseBatch<T>& b, std::size_t k, std::size_t l) {
  return dot(a.rows[k], b.rows[l]);
}

template <class T>
double product(const RowsBatch<T>& a, const RowsBatch<T>& b, std::size_t k, std::size_t l) {
  return inner_product(a.rows[k], b.rows[l]);
}

// All products of two rows: the upper triangle. Works on a few weights at a time, which stay in the cache for all pairs
// of rows.
template <class T>
void add_gram(const DenseBatch<T>& a, const DenseBatch<T>& b, std::size_t rows, std::span<double> out) {
  constexpr std::size_t at_once = 4096;
  const std::size_t weights = rows == 0 ? 0 : a.rows[0].size();
  for (std::size_t first = 0; first < weights; first += at_once) {
    const std::size_t count = std::min(at_once, weights - first);
    for (std::size_t k = 0; k < rows; ++k) {
      for (std::size_t l = k; l < rows; ++l) {
        out[k * rows + l] += dot(a.rows[k].subspan(first, count), b.rows[l].subspan(first, count));
      }
    }
  }
}

}  // namespace

template <class T>
BatchAlgebra<T>::BatchAlgebra(std::size_t most_samples, std::size_t most_per_sample, bool whole)
    : of_u_(whole ? most_samples * most_samples : most_samples),
      of_v_(whole ? of_u_.size() * most_per_sample * most_per_sample
                  : std::max(most_samples, most_per_sample * most_per_sample)) {}

template <class T>
void BatchAlgebra<T>::gram(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d, std::span<double> out) {
  const std::size_t rows = j.rows(), samples = j.samples, per_sample = j.per_sample;
  std::fill_n(out.begin(), rows * rows, 0.0);
  for (std::size_t i = 0; i < j.blocks.size(); ++i) {
    if (const auto* a = std::get_if<OuterBatch<T>>(&j.blocks[i])) {
      const auto& b = std::get<OuterBatch<T>>(d.blocks[i]);
      transposed_product(a->u, a->u_stride, b.u, b.u_stride, a->u_rows(), samples, of_u_.data());
      transposed_product(a->v, a->v_stride, b.v, b.v_stride, a->units, rows, of_v_.data());
      for (std::size_t k = 0; k < rows; ++k) {
        const T* u = of_u_.data() + k / per_sample * samples;
        const T* v = of_v_.data() + k * rows;
        double* row = out.data() + k * rows;
        if (per_sample == 1) {
          for (std::size_t l = k; l < rows; ++l) row[l] += static_cast<double>(u[l] * v[l]);
        } else {
          for (std::size_t l = k; l < rows; ++l) row[l] += static_cast<double>(u[l / per_sample] * v[l]);
        }
      }
      continue;
    }
    if (const auto* dense = std::get_if<DenseBatch<T>>(&j.blocks[i])) {
      add_gram(*dense, std::get<DenseBatch<T>>(d.blocks[i]), rows, out);
      continue;
    }
    for (std::size_t k = 0; k < rows; ++k) {
      for (std::size_t l = k; l < rows; ++l) {
        out[k * rows + l] += product(std::get<RowsBatch<T>>(j.blocks[i]), std::get<RowsBatch<T>>(d.blocks[i]), k, l);
      }
    }
  }
}

// Of the rows of one sample.
template <class T>
void BatchAlgebra<T>::add_own_gram(const OuterBatch<T>& a, const OuterBatch<T>& b, std::size_t sample, std::size_t n,
                                   std::span<double> out) {
  double of_u = 0;
  for (std::size_t r = 0; r < a.u_rows(); ++r) {
    of_u += static_cast<double>(a.u[r * a.u_stride + sample]) * b.u[r * b.u_stride + sample];
  }
  transposed_product(a.v + sample * n, a.v_stride, b.v + sample * n, b.v_stride, a.units, n, of_v_.data());
  for (std::size_t k = 0; k < n; ++k) {
    out[k * n + k] += of_u * of_v_[k * n + k];
    for (std::size_t l = k + 1; l < n; ++l) {
      const double both = of_u * of_v_[k * n + l];
      out[k * n + l] += both;
      out[l * n + k] += both;
    }
  }
}

template <class T>
void BatchAlgebra<T>::gram_of_samples(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d,
                                      std::span<double> out) {
  const std::size_t samples = j.samples, n = j.per_sample;
  std::fill_n(out.begin(), samples * n * n, 0.0);
  const auto add_pairs = [&](const auto& product_of) {
    for (std::size_t k = 0; k < samples * n; ++k) {
      for (std::size_t l = 0; l < n; ++l) out[k * n + l] += product_of(k, k / n * n + l);
    }
  };
  for (std::size_t i = 0; i < j.blocks.size(); ++i) {
    if (const auto* a = std::get_if<OuterBatch<T>>(&j.blocks[i])) {
      const auto& b = std::get<OuterBatch<T>>(d.blocks[i]);
      if (n > 1) {
        for (std::size_t s = 0; s < samples; ++s) add_own_gram(*a, b, s, n, out.subspan(s * n * n, n * n));
        continue;
      }
      const auto& kernel = kernels::table<T>();
      kernel.column_products(a->u, a->u_stride, b.u, b.u_stride, a->u_rows(), samples, of_u_.data());
      kernel.column_products(a->v, a->v_stride, b.v, b.v_stride, a->units, samples, of_v_.data());
      for (std::size_t k = 0; k < samples; ++k) out[k] += static_cast<double>(of_u_[k] * of_v_[k]);
    } else if (const auto* dense = std::get_if<DenseBatch<T>>(&j.blocks[i])) {
      const auto& other = std::get<DenseBatch<T>>(d.blocks[i]);
      add_pairs([&](std::size_t k, std::size_t l) { return product(*dense, other, k, l); });
    } else {
      const auto& rows = std::get<RowsBatch<T>>(j.blocks[i]);
      const auto& other = std::get<RowsBatch<T>>(d.blocks[i]);
      add_pairs([&](std::size_t k, std::size_t l) { return product(rows, other, k, l); });
    }
  }
}

template <class T>
void BatchAlgebra<T>::weigh(const OuterBatch<T>& block, std::size_t samples, std::size_t per_sample,
                            std::span<const T> z) {
  if (weighted_.size() < samples * block.units) weighted_.resize(samples * block.units);
  const std::size_t units = block.units;
  T* out = weighted_.data();
  for (std::size_t c = 0; c < units; ++c) {
    const T* v = block.v + c * block.v_stride;
    if (per_sample == 1) {
      for (std::size_t s = 0; s < samples; ++s) out[s * units + c] = z[s] * v[s];
      continue;
    }
    for (std::size_t s = 0; s < samples; ++s) {
      T sum = 0;
      for (std::size_t k = s * per_sample; k < (s + 1) * per_sample; ++k) sum += z[k] * v[k];
      out[s * units + c] = sum;
    }
  }
}

template <class T>
void BatchAlgebra<T>::add(const BatchSensitivity<T>& d, std::span<const T> z, T factor, std::span<T> w) {
  const auto& kernel = kernels::table<T>();
  for (const auto& any : d.blocks) {
    if (const auto* outer = std::get_if<OuterBatch<T>>(&any)) {
      add_outer(*outer, d.samples, d.per_sample, z, factor, w.data() + outer->offset, true);
    } else if (const auto* dense = std::get_if<DenseBatch<T>>(&any)) {
      for (std::size_t k = 0; k < d.rows(); ++k) {
        kernel.add(w.data() + dense->offset, dense->rows[k].data(), dense->rows[k].size(), factor * z[k]);
      }
    } else {
      const auto& table = std::get<RowsBatch<T>>(any);
      for (std::size_t k = 0; k < d.rows(); ++k) {
        const SparseRows<T>& rows = table.rows[k];
        for (std::size_t i = 0; i < rows.index.size(); ++i) {
          T* at = w.data() + table.offset + rows.index[i] * table.width;
          kernel.add(at, rows.rows.data() + i * table.width, table.width, factor * z[k]);
        }
      }
    }
  }
}

template <class T>
void BatchAlgebra<T>::add_outer(const OuterBatch<T>& block, std::size_t samples, std::size_t per_sample,
                                std::span<const T> z, T factor, T* out, bool add) {
  weigh(block, samples, per_sample, z);
  if (block.rows.empty()) return multiply_outer(block, samples, factor, out, add);
  const std::size_t units = block.units;
  if (some_rows_.size() < block.inputs * units) some_rows_.resize(block.inputs * units);
  multiply_outer(block, samples, factor, some_rows_.data(), false);
  if (!add) std::fill_n(out, block.inputs * units, T{0});
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    kernels::table<T>().add(out + block.rows[i] * units, some_rows_.data() + i * units, units, T{1});
  }
}

// From what weigh() has left.
template <class T>
void BatchAlgebra<T>::multiply_outer(const OuterBatch<T>& block, std::size_t samples, T factor, T* out, bool add) {
  // The kernel works down a few columns at a time. A layer too large for the caches goes to it a few rows at a time, so
  // that memory is read in order.
  constexpr std::size_t cached_bytes = std::size_t{1} << 20, rows_at_once = 8;
  const std::size_t rows = block.u_rows();
  const bool cached = rows * block.units * sizeof(T) <= cached_bytes;
  const std::size_t at_once = cached ? rows : rows_at_once;
  for (std::size_t first = 0; first < rows; first += at_once) {
    kernels::table<T>().product({.rows = std::min(at_once, rows - first),
                                 .depth = samples,
                                 .columns = block.units,
                                 .a = block.u + first * block.u_stride,
                                 .a_row_stride = block.u_stride,
                                 .a_column_stride = 1,
                                 .b = weighted_.data(),
                                 .b_stride = block.units,
                                 .out = out + first * block.units,
                                 .out_stride = block.units,
                                 .factor = factor,
                                 .add = add});
  }
}

// A row that several samples have read appears once. Samples are summed in their order, so that the bits of a sum do
// not depend on how the rows were sorted.
template <class T>
void BatchAlgebra<T>::sum_rows(const RowsBatch<T>& block, std::span<const T> z, Union& all) {
  all.parts.clear();
  for (std::size_t k = 0; k < z.size(); ++k) {
    const SparseRows<T>& rows = block.rows[k];
    for (std::size_t i = 0; i < rows.index.size(); ++i) {
      all.parts.push_back({rows.index[i], static_cast<std::uint32_t>(k), rows.rows.data() + i * block.width});
    }
  }
  std::sort(all.parts.begin(), all.parts.end(),
            [](const Part& a, const Part& b) { return a.index != b.index ? a.index < b.index : a.row < b.row; });
  all.index.clear();
  all.index.reserve(all.parts.size());
  if (all.rows.size() < all.parts.size() * block.width) all.rows.resize(all.parts.size() * block.width);
  for (const Part& part : all.parts) {
    if (all.index.empty() || all.index.back() != part.index) {
      std::fill_n(all.rows.data() + all.index.size() * block.width, block.width, T{0});
      all.index.push_back(part.index);
    }
    kernels::table<T>().add(all.rows.data() + (all.index.size() - 1) * block.width, part.at, block.width, z[part.row]);
  }
}

template <class T>
const Sensitivity<T>& BatchAlgebra<T>::sum(const BatchSensitivity<T>& d, std::span<const T> z) {
  written_.resize(d.blocks.size());
  unions_.resize(d.blocks.size());
  direction_.resize(d.blocks.size());
  for (std::size_t i = 0; i < d.blocks.size(); ++i) {
    if (const auto* outer = std::get_if<OuterBatch<T>>(&d.blocks[i])) {
      written_[i].resize(outer->inputs * outer->units);
      add_outer(*outer, d.samples, d.per_sample, z, T{1}, written_[i].data(), false);
      direction_[i] = Dense<T>{outer->offset, written_[i]};
    } else if (const auto* dense = std::get_if<DenseBatch<T>>(&d.blocks[i])) {
      written_[i].assign(dense->rows[0].size(), T{0});
      for (std::size_t k = 0; k < z.size(); ++k) {
        kernels::table<T>().add(written_[i].data(), dense->rows[k].data(), written_[i].size(), z[k]);
      }
      direction_[i] = Dense<T>{dense->offset, written_[i]};
    } else {
      const auto& table = std::get<RowsBatch<T>>(d.blocks[i]);
      sum_rows(table, z, unions_[i]);
      const std::span<const T> rows = unions_[i].rows;
      direction_[i] =
          SparseRows<T>{table.offset, table.width, unions_[i].index, rows.first(unions_[i].index.size() * table.width)};
    }
  }
  return direction_;
}

template class BatchAlgebra<float>;
template class BatchAlgebra<double>;

}  // namespace ignd
