#include "core/preconditioner.hpp"

#include "ignd/checkpoint.hpp"

#include <algorithm>
#include <cmath>

namespace ignd {
namespace {

// Calls use(inputs, rows, offset, width) for the blocks that multiply the sample's inputs: input k has the `width`
// weights of row rows[k], or of row k where rows is empty.
template <class T, class Use>
void for_input_blocks(const Sensitivity<T>& j, Use use) {
  using Rows32 = std::span<const std::uint32_t>;
  for (const auto& block : j) {
    if (const auto* outer = std::get_if<Outer<T>>(&block); outer != nullptr && outer->on_input) {
      use(outer->u, Rows32(), outer->offset, outer->v.size());
    } else if (const auto* dense = std::get_if<Dense<T>>(&block); dense != nullptr && dense->on_input) {
      use(dense->j, Rows32(), dense->offset, std::size_t{1});
    } else if (const auto* rows = std::get_if<SparseRows<T>>(&block); rows != nullptr && rows->on_input) {
      use(rows->rows, rows->index, rows->offset, std::size_t{1});
    }
  }
}

template <class T>
std::size_t input_count(const Sensitivity<T>& j, std::span<const RowTable> tables) {
  std::size_t inputs = !tables.empty() && tables.front().sparse ? tables.front().rows : 0;
  for_input_blocks(j, [&](auto values, auto, auto, auto) { inputs = std::max(inputs, values.size()); });
  return inputs;
}

}  // namespace

template <class T>
Preconditioner<T>::Preconditioner(PreconditionerKind kind, const Sensitivity<T>& j, std::span<const RowTable> tables)
    : fades_(kind == PreconditionerKind::fading_second_moment), inputs_(input_count(j, tables)), direction_(j) {
  const bool sparse = !tables.empty() && tables.front().sparse;
  if (!sparse) scaled_.resize(inputs_.size());
}

// The mean square of an input once x has been taken into account.
template <class T>
double Preconditioner<T>::mean_square_with(const InputStatistics& input, double x) {
  return input.mean_square + (x * x - input.mean_square) / static_cast<double>(input.seen + 1);
}

template <class T>
void Preconditioner<T>::rescale_for(std::span<const T> inputs, std::span<const std::uint32_t> index, std::span<T> w,
                                    std::size_t offset, std::size_t width) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::size_t i = index.empty() ? k : index[k];
    const double x = static_cast<double>(inputs[k]);
    const InputStatistics& input = inputs_[i];
    const bool larger = x * x > input.mean_square * static_cast<double>(input.seen) && std::isfinite(x * x);
    if (!larger || input.mean_square == 0) continue;
    const T factor = static_cast<T>(input.mean_square / mean_square_with(input, x));
    for (std::size_t place = offset + i * width; place < offset + (i + 1) * width; ++place) {
      saved_weights_.push_back({place, w[place]});
      w[place] *= factor;
    }
  }
}

template <class T>
bool Preconditioner<T>::rescale_for(const Sensitivity<T>& j, std::span<T> w, std::size_t outputs) {
  saved_weights_.clear();
  if (!fades_) return false;
  for_input_blocks(j, [&](auto values, auto rows, auto offset, auto width) {
    rescale_for(values, rows, w, offset * outputs, width * outputs);
  });
  return !saved_weights_.empty();
}

template <class T>
void Preconditioner<T>::rollback(std::span<T> w) {
  for (auto saved = saved_weights_.rbegin(); saved != saved_weights_.rend(); ++saved) w[saved->place] = saved->weight;
  saved_weights_.clear();
}

template <class T>
void Preconditioner<T>::scale(std::span<const T> inputs, std::span<const std::uint32_t> index) {
  scaled_.resize(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const double x = static_cast<double>(inputs[k]);
    const InputStatistics& input = inputs_[index.empty() ? k : index[k]];
    double mean = mean_square_with(input, x);
    if (fades_) mean *= std::sqrt(static_cast<double>(input.seen + 1));
    // The square of a number below 1e-162 underflows to zero: such an input counts as absent. One that overflows is
    // passed on, so that the step is refused.
    scaled_[k] = x == 0 || mean == 0 ? T{0} : static_cast<T>(std::isfinite(mean) ? x / mean : mean);
  }
}

template <class T>
const Sensitivity<T>& Preconditioner<T>::direction(const Sensitivity<T>& j) {
  for (std::size_t b = 0; b < j.size(); ++b) {
    direction_[b] = j[b];
    if (auto* outer = std::get_if<Outer<T>>(&direction_[b]); outer != nullptr && outer->on_input) {
      scale(outer->u, {});
      outer->u = scaled_;
    } else if (auto* dense = std::get_if<Dense<T>>(&direction_[b]); dense != nullptr && dense->on_input) {
      scale(dense->j, {});
      dense->j = scaled_;
    } else if (auto* rows = std::get_if<SparseRows<T>>(&direction_[b]); rows != nullptr && rows->on_input) {
      scale(rows->rows, rows->index);
      rows->rows = scaled_;
    }
  }
  return direction_;
}

template <class T>
void Preconditioner<T>::count(std::span<const T> inputs, std::span<const std::uint32_t> index) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == T{0}) continue;
    InputStatistics& input = inputs_[index.empty() ? k : index[k]];
    input.mean_square = mean_square_with(input, static_cast<double>(inputs[k]));
    ++input.seen;
  }
}

template <class T>
void Preconditioner<T>::observe(const Sensitivity<T>& j) {
  saved_weights_.clear();
  for_input_blocks(j, [&](auto values, auto rows, auto, auto) { count(values, rows); });
}

template <class T>
void Preconditioner<T>::observe_input(std::size_t i, T x) {
  if (x == T{0}) return;
  InputStatistics& input = inputs_[i];
  saved_statistics_.push_back({i, input});
  input.mean_square = mean_square_with(input, static_cast<double>(x));
  ++input.seen;
}

template <class T>
void Preconditioner<T>::observe(const BatchSensitivity<T>& j) {
  saved_statistics_.clear();
  for (const auto& any : j.blocks) {
    if (const auto* outer = std::get_if<OuterBatch<T>>(&any); outer != nullptr && outer->on_input) {
      for (std::size_t i = 0; i < outer->u_rows(); ++i) {
        for (std::size_t s = 0; s < j.samples; ++s) observe_input(outer->row(i), outer->u[i * outer->u_stride + s]);
      }
    } else if (const auto* table = std::get_if<RowsBatch<T>>(&any); table != nullptr && table->on_input) {
      for (const SparseRows<T>& rows : std::span(table->rows).first(j.samples)) {
        for (std::size_t k = 0; k < rows.index.size(); ++k) observe_input(rows.index[k], rows.rows[k]);
      }
    }
  }
}

template <class T>
void Preconditioner<T>::rollback() {
  for (auto saved = saved_statistics_.rbegin(); saved != saved_statistics_.rend(); ++saved) {
    inputs_[saved->input] = saved->statistics;
  }
  saved_statistics_.clear();
}

template <class T>
T Preconditioner<T>::scaled(std::size_t i, T x) const {
  const double mean = inputs_[i].mean_square;
  return x == T{0} || mean == 0 ? T{0} : static_cast<T>(std::isfinite(mean) ? static_cast<double>(x) / mean : mean);
}

template <class T>
const BatchSensitivity<T>& Preconditioner<T>::direction(const BatchSensitivity<T>& j) {
  batch_direction_.samples = j.samples;
  batch_direction_.per_sample = j.per_sample;
  batch_direction_.blocks.resize(j.blocks.size());
  for (std::size_t b = 0; b < j.blocks.size(); ++b) {
    auto& block = batch_direction_.blocks[b] = j.blocks[b];
    if (auto* outer = std::get_if<OuterBatch<T>>(&block); outer != nullptr && outer->on_input) {
      scaled_batch_.resize(outer->u_rows() * outer->u_stride);
      for (std::size_t i = 0; i < outer->u_rows(); ++i) {
        for (std::size_t s = 0; s < j.samples; ++s) {
          const std::size_t at = i * outer->u_stride + s;
          scaled_batch_[at] = scaled(outer->row(i), outer->u[at]);
        }
      }
      outer->u = scaled_batch_.data();
    } else if (auto* table = std::get_if<RowsBatch<T>>(&block); table != nullptr && table->on_input) {
      scaled_batch_.clear();
      for (const SparseRows<T>& rows : std::span(table->rows).first(j.samples)) {
        for (std::size_t k = 0; k < rows.index.size(); ++k)
          scaled_batch_.push_back(scaled(rows.index[k], rows.rows[k]));
      }
      std::span<const T> left = scaled_batch_;
      for (SparseRows<T>& rows : std::span(table->rows).first(j.samples)) {
        rows.rows = left.first(rows.index.size());
        left = left.subspan(rows.index.size());
      }
    }
  }
  return batch_direction_;
}

template <class T>
void Preconditioner<T>::save(Checkpoint& checkpoint) const {
  std::vector<double> mean_square;
  std::vector<std::uint64_t> seen;
  mean_square.reserve(inputs_.size());
  seen.reserve(inputs_.size());
  for (const InputStatistics& input : inputs_) {
    mean_square.push_back(input.mean_square);
    seen.push_back(input.seen);
  }
  checkpoint.set("metric.mean-square", std::span<const double>(mean_square));
  checkpoint.set("metric.seen", std::span<const std::uint64_t>(seen));
}

template <class T>
void Preconditioner<T>::restore(const Checkpoint& checkpoint) {
  saved_statistics_.clear();
  const auto& mean_square = checkpoint.array<double>("metric.mean-square", inputs_.size());
  const auto& seen = checkpoint.array<std::uint64_t>("metric.seen", inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = {mean_square[i], seen[i]};
}

template class Preconditioner<float>;
template class Preconditioner<double>;

}  // namespace ignd
