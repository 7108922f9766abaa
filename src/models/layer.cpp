#include "models/layer.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace ignd {

std::string Shape::text() const {
  switch (kind) {
    case Kind::values:
      return fmt::format("values {}", size[0]);
    case Kind::image:
      return fmt::format("image {} {} {}", size[0], size[1], size[2]);
    case Kind::sequence:
      return fmt::format("sequence {} {}", size[0], size[1]);
    case Kind::tokens:
      return fmt::format("tokens {} {}", size[0], size[1]);
  }
  return "nothing";
}

template <class T>
SampleBySample<T>::SampleBySample(const Layer<T>& layer, const BatchPlace<T>& place)
    : layer_(layer), place_(place), first_block_(place.blocks.size()), j_(place.samples) {
  for (std::size_t s = 0; s < place.samples; ++s) {
    passes_.push_back(layer.make_pass());
    passes_.back()->out = place.out.value(s);
    layer.add_blocks(place.weights, *passes_.back(), j_[s]);
    passes_.back()->blocks = j_[s];
  }
  for (const Block<T>& block : j_.front()) {
    if (const auto* dense = std::get_if<Dense<T>>(&block)) {
      place.blocks.push_back(DenseBatch<T>{dense->offset, std::vector<std::span<const T>>(place.rows)});
    } else {
      const auto& rows = std::get<SparseRows<T>>(block);
      place.blocks.push_back(RowsBatch<T>{rows.offset, rows.width, std::vector<SparseRows<T>>(place.rows)});
    }
    kept_.emplace_back(place.rows);
  }
}

template <class T>
void SampleBySample<T>::forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) {
  for (std::size_t s = 0; s < samples; ++s) {
    Pass<T>& pass = *passes_[s];
    pass.in = place_.in.value(s);
    pass.in_steps = place_.in.steps[s];
    if (!place_.in.x.empty()) pass.tokens = place_.in.x[s].index;
    layer_.forward(w, pass, about_to_read);
    place_.out.steps[s] = pass.out_steps;
  }
}

// The next backward pass overwrites these numbers: copies them if there will be one.
template <class T>
std::span<const T> SampleBySample<T>::keep(std::span<const T> numbers, std::size_t block, std::size_t row, bool copy) {
  if (!copy) return numbers;
  AlignedVector<T>& kept = kept_[block][row];
  if (kept.size() < numbers.size()) kept.resize(numbers.size());
  std::ranges::copy(numbers, kept.begin());
  return std::span<const T>(kept).first(numbers.size());
}

template <class T>
void SampleBySample<T>::backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) {
  const bool copy = per_sample > 1;
  for (std::size_t k = 0; k < samples * per_sample; ++k) {
    Pass<T>& pass = *passes_[k / per_sample];
    pass.out_delta = place_.out.delta(k);
    pass.in_delta = place_.in.delta(k);
    layer_.backward(w, pass);
    for (std::size_t b = 0; b < kept_.size(); ++b) {
      BatchBlock<T>& all = place_.blocks[first_block_ + b];
      if (const auto* dense = std::get_if<Dense<T>>(&pass.blocks[b])) {
        std::get<DenseBatch<T>>(all).rows[k] = keep(dense->j, b, k, copy);
      } else {
        SparseRows<T>& rows = std::get<RowsBatch<T>>(all).rows[k];
        rows = std::get<SparseRows<T>>(pass.blocks[b]);
        rows.rows = keep(rows.rows, b, k, copy);
      }
    }
  }
}

template class SampleBySample<float>;
template class SampleBySample<double>;

}  // namespace ignd
