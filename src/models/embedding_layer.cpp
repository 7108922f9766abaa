#include "base/text.hpp"
#include "kernels/kernels.hpp"
#include "models/sequence_layers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

template <class T>
class EmbeddingLayer final : public Layer<T> {
 public:
  EmbeddingLayer(const Shape& tokens, const Embedding& options)
      : steps_(tokens.size[0]), vocabulary_(tokens.size[1]), options_(options) {}

  std::string text() const override {
    return fmt::format("embedding {} deviation={}", options_.width, format_number(options_.deviation));
  }
  Shape output() const override { return Shape::sequence(steps_, options_.width); }
  std::size_t weights() const override { return vocabulary_ * options_.width; }

  void fill_initial(std::span<T> w, RandomStream& stream) const override {
    for (T& weight : w) weight = static_cast<T>(options_.deviation * stream.normal());
  }

  std::vector<RowTable> row_tables() const override {
    return {{.offset = 0, .rows = vocabulary_, .width = options_.width, .sparse = true}};
  }

  std::unique_ptr<Pass<T>> make_pass() const override {
    auto pass = std::make_unique<EmbeddingPass>();
    pass->order.reserve(steps_);
    pass->index.reserve(steps_);
    pass->rows.reserve(steps_ * options_.width);
    return pass;
  }

  void add_blocks(std::size_t offset, Pass<T>& /*pass*/, Sensitivity<T>& j) const override {
    j.push_back(SparseRows<T>{.offset = offset, .width = options_.width, .index = {}, .rows = {}});
  }

  void forward(std::span<const T> w, Pass<T>& any, const RowAnnouncer& about_to_read) const override {
    auto& pass = static_cast<EmbeddingPass&>(any);
    sort_tokens(pass);
    auto& block = std::get<SparseRows<T>>(pass.blocks[0]);
    block.index = pass.index;
    about_to_read(0, pass.index);
    pass.out_steps = pass.tokens.size();
    T* out = pass.out;
    for (const std::uint32_t token : pass.tokens) {
      out = std::copy_n(w.data() + token * options_.width, options_.width, out);
    }
  }

  // A token's row gets the sum over the steps that it stands at.
  void backward(std::span<const T> /*w*/, Pass<T>& any) const override {
    auto& pass = static_cast<EmbeddingPass&>(any);
    const auto& kernel = kernels::table<T>();
    pass.rows.assign(pass.index.size() * options_.width, T{0});
    T* row = pass.rows.data() - options_.width;
    std::uint64_t before = UINT64_MAX;
    for (const std::uint64_t entry : pass.order) {
      if (entry >> 32 != before) row += options_.width;
      before = entry >> 32;
      kernel.add(row, pass.out_delta + (entry & UINT32_MAX) * options_.width, options_.width, T{1});
    }
    std::get<SparseRows<T>>(pass.blocks[0]).rows = pass.rows;
  }

 private:
  struct EmbeddingPass final : Pass<T> {
    std::vector<std::uint64_t> order;  // token and step of each, by token
    std::vector<std::uint32_t> index;  // the tokens, each once
    AlignedVector<T> rows;
  };

  static void sort_tokens(EmbeddingPass& pass) {
    pass.order.clear();
    pass.index.clear();
    for (std::size_t step = 0; step < pass.tokens.size(); ++step) {
      pass.order.push_back(std::uint64_t{pass.tokens[step]} << 32 | step);
    }
    std::ranges::sort(pass.order);
    for (const std::uint64_t entry : pass.order) {
      const auto token = static_cast<std::uint32_t>(entry >> 32);
      if (pass.index.empty() || pass.index.back() != token) pass.index.push_back(token);
    }
  }

  std::size_t steps_, vocabulary_;
  Embedding options_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_embedding_layer(const Shape& tokens, const Embedding& options) {
  return std::make_unique<EmbeddingLayer<T>>(tokens, options);
}

template std::unique_ptr<Layer<float>> make_embedding_layer(const Shape&, const Embedding&);
template std::unique_ptr<Layer<double>> make_embedding_layer(const Shape&, const Embedding&);

}  // namespace ignd
