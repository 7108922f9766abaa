#pragma once

#include "ignd/api.hpp"
#include "ignd/model.hpp"

namespace ignd {

// f = w.x + b over dense features. Weights start at zero. The bias is the last parameter, an ordinary one.
template <class T>
class IGND_API Linear final : public Model<T> {
 public:
  explicit Linear(std::size_t features, bool bias = true);

  std::string spec() const override;
  std::unique_ptr<Model<T>> clone() const override { return std::make_unique<Linear>(*this); }
  std::unique_ptr<Batch<T>> make_batch(std::size_t size) const override;
  void check(const Input<T>& x) const override;
  void prepare(Trace<T>& trace) const override;
  double forward(const Input<T>& x, Trace<T>& trace) const override;
  void sensitivity(const Input<T>& x, Trace<T>& trace) const override;

 private:
  std::size_t features_;
  bool bias_;
};

// f = sum_k w[index[k] mod 2^bits] x_k + b over sparse features. Indices below 2^bits are kept apart; larger ones (and
// hashes, see hash_feature) share weights where they collide. A feature named twice in a sample counts as the sum.
// The trace grows to the largest number of active features it has seen and allocates only then.
template <class T>
class IGND_API HashedLinear final : public Model<T> {
 public:
  explicit HashedLinear(unsigned bits, bool bias = true);

  std::string spec() const override;
  std::unique_ptr<Model<T>> clone() const override { return std::make_unique<HashedLinear>(*this); }
  void check(const Input<T>& x) const override;
  void prepare(Trace<T>& trace) const override;
  std::vector<RowTable> row_tables() const override;
  double forward(const Input<T>& x, Trace<T>& trace) const override;
  void sensitivity(const Input<T>& x, Trace<T>& trace) const override;

  // The weights that x reads, the bias among them, and what each is multiplied by: the block of the trace, which
  // forward() fills in the same way.
  const SparseRows<T>& read_rows(const Input<T>& x, Trace<T>& trace) const;

 private:
  void copy_rows(const Input<T>& x, bool in_order, Trace<T>& trace) const;
  void sort_rows(const Input<T>& x, Trace<T>& trace) const;

  unsigned bits_;
  bool bias_;
};

// The index of a feature known by name: the same on every machine.
IGND_API std::uint32_t hash_feature(std::string_view name);

}  // namespace ignd
