#include "models/dense_batch_pass.hpp"

#include "kernels/kernels.hpp"
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

// All rows of the weights are read at every step, so that none has anything to announce.
template <class T>
void DenseBatchPass<T>::forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& /*about_to_read*/) {
  transpose(place_.in.value(0), samples, inputs_, inputs_, u_.data(), place_.samples);
  kernels::table<T>().product({.rows = samples,
                               .depth = inputs_ + 1,
                               .columns = units_,
                               .a = u_.data(),
                               .a_row_stride = 1,
                               .a_column_stride = place_.samples,
                               .b = w.data(),
                               .b_stride = units_,
                               .out = place_.out.value(0),
                               .out_stride = units_});
}

template <class T>
void DenseBatchPass<T>::backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) {
  const std::size_t rows = samples * per_sample;
  transpose(place_.out.delta(0), rows, units_, units_, v_.data(), place_.rows);
  if (below_.empty()) return;
  kernels::table<T>().product({.rows = inputs_,
                               .depth = units_,
                               .columns = rows,
                               .a = w.data(),
                               .a_row_stride = units_,
                               .a_column_stride = 1,
                               .b = v_.data(),
                               .b_stride = place_.rows,
                               .out = below_.data(),
                               .out_stride = place_.rows});
  transpose(below_.data(), inputs_, rows, place_.rows, place_.in.delta(0), inputs_);
}

template class DenseBatchPass<float>;
template class DenseBatchPass<double>;

}  // namespace ignd
