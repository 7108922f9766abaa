#include "models/dense_batch_pass.hpp"

#include "models/matrix_product.hpp"
#include "models/transpose.hpp"

#include <algorithm>

namespace ignd {

template <class T>
DenseBatchPass<T>::DenseBatchPass(const BatchPlace<T>& place)
    : place_(place),
      inputs_(place.in.count),
      units_(place.out.count),
      u_((inputs_ + 1) * place.samples),
      v_(units_ * place.rows),
      below_(place.in.deltas.size()) {
  std::fill_n(u_.end() - static_cast<std::ptrdiff_t>(place.samples), place.samples, T{1});
  place.blocks.push_back(OuterBatch<T>{.offset = place.weights,
                                       .inputs = inputs_ + 1,
                                       .units = units_,
                                       .u = u_.data(),
                                       .u_stride = place.samples,
                                       .v = v_.data(),
                                       .v_stride = place.rows});
}

// All rows of the weights are read at every step, so that there is nothing to announce.
template <class T>
void DenseBatchPass<T>::forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& /*about_to_read*/) {
  transpose(place_.in.value(0), samples, inputs_, inputs_, u_.data(), place_.samples);
  const T* biases = w.data() + inputs_ * units_;
  for (std::size_t s = 0; s < samples; ++s) std::copy_n(biases, units_, place_.out.value(s));
  multiply<T>(samples, units_, inputs_, {place_.in.value(0), inputs_}, {w.data(), units_},
              {place_.out.value(0), units_}, true);
}

template <class T>
void DenseBatchPass<T>::backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) {
  const std::size_t rows = samples * per_sample;
  transpose(place_.out.delta(0), rows, units_, units_, v_.data(), place_.rows);
  if (below_.empty()) return;
  // Large layers are faster this way than with the rows of J in front.
  multiply<T>(inputs_, rows, units_, {w.data(), units_}, {v_.data(), place_.rows}, {below_.data(), place_.rows});
  transpose(below_.data(), inputs_, rows, place_.rows, place_.in.delta(0), inputs_);
}

template class DenseBatchPass<float>;
template class DenseBatchPass<double>;

}  // namespace ignd
