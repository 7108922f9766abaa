#pragma once

#include "ignd/api.hpp"
#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// A network given by a text: what a sample is, then its layers up to the outputs.
//
//   image 3 224 224; convolution 32; relu; max-pool; flatten; dense 128; relu; dense 1
//   tokens 256 100277; embedding 128; lstm 128; last; dense 1
//   values 8; dense 32; tanh; dense 1
//
// In front of it, "threads 2; " lets convolutions use two threads; the last bits of what they compute depend on it.
// With several outputs, "dense 5" at the end, it is read and trained in batches only.
// An image is a dense sample, channel by channel and row by row; a text is a sample of tokens, at most as many as the
// network reads, without values. docs/networks.md lists the layers.
template <class T>
class IGND_API Network final : public Model<T> {
 public:
  // Throws InvalidArgument, with the layer, where the text cannot be read or a layer cannot take what the one before it
  // gives.
  explicit Network(std::string_view text, std::uint64_t seed = 0);

  std::string spec() const override;
  std::unique_ptr<Model<T>> clone() const override { return std::make_unique<Network>(*this); }
  std::size_t outputs() const override;
  void check(const Input<T>& x) const override;
  void prepare(Trace<T>& trace) const override;
  std::vector<RowTable> row_tables() const override;
  double forward(const Input<T>& x, Trace<T>& trace) const override;
  void sensitivity(const Input<T>& x, Trace<T>& trace) const override;
  std::unique_ptr<Batch<T>> make_batch(std::size_t size) const override;

 private:
  struct Plan;
  struct Passes;
  Network(std::shared_ptr<const Plan> plan, std::uint64_t seed);

  std::shared_ptr<const Plan> plan_;  // the layers, which never change: copies share them
};

// Checks a network's text, which may be a spec, without allocating its weights: it must have that many outputs, or,
// without a number, any. Throws what the constructor would, and InvalidArgument for another number.
IGND_API void check_network(std::string_view text, std::optional<std::size_t> outputs = 1);

}  // namespace ignd
