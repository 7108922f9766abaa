#include "ignd/error.hpp"
#include "models/image_layers.hpp"
#include "models/onednn_program.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

using Buffer = OnednnProgram::Buffer;
using Desc = OnednnProgram::Desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

Desc layout(const Dims& dims, Tag tag) { return {dims, dnnl::memory::data_type::f32, tag}; }

Dims dims_of(const Shape& image) {
  const auto [channels, height, width] = image.size;
  return {1, static_cast<int>(channels), static_cast<int>(height), static_cast<int>(width)};
}

Desc canonical(const Shape& image) { return layout(dims_of(image), Tag::nchw); }

Dims kernel_dims(const ImageStage& stage) {
  const auto kernel = static_cast<int>(std::get<Convolution>(stage.layer).kernel);
  return {static_cast<int>(stage.out.size[0]), static_cast<int>(stage.in.size[0]), kernel, kernel};
}

Dims bias_dims(const ImageStage& stage) { return {static_cast<int>(stage.out.size[0])}; }

Dims both_ways(std::size_t size) { return {static_cast<int>(size), static_cast<int>(size)}; }

// A stride beyond the image is cut to its size, with the same result.
Dims stride_dims(std::size_t stride, const Shape& in, std::size_t padding) {
  return both_ways(std::min(stride, std::max(in.size[1], in.size[2]) + 2 * padding));
}

// Calls oneDNN and turns its errors into ours.
template <class Call>
void with_onednn(const Call& call) {
  try {
    call();
  } catch (const dnnl::error& fault) {
    throw Error(fmt::format("oneDNN cannot compute the image layers: {}", fault.what()));
  }
}

// The primitives of a convolution, or none if the algorithm does not support it.
struct ConvolutionPrimitives {
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_weights::primitive_desc weights;
  dnnl::convolution_backward_data::primitive_desc data;

  explicit operator bool() const { return bool(forward) && bool(weights) && bool(data); }
};

dnnl::primitive_attr then_rectify() {
  dnnl::post_ops rectify;
  rectify.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes = OnednnProgram::attributes();
  attributes.set_post_ops(rectify);
  return attributes;
}

ConvolutionPrimitives find_primitives(const ImageStage& stage, bool rectified, dnnl::algorithm algorithm,
                                      const dnnl::engine& engine) {
  const auto& layer = std::get<Convolution>(stage.layer);
  const Desc in = layout(dims_of(stage.in), Tag::any);
  const Desc out = layout(dims_of(stage.out), Tag::any);
  const Desc kernels = layout(kernel_dims(stage), Tag::any);
  const Desc biases = layout(bias_dims(stage), Tag::x);
  const Dims stride = stride_dims(layer.stride, stage.in, layer.padding);
  const Dims padding = both_ways(layer.padding);
  const auto plain = OnednnProgram::attributes();
  const auto training = dnnl::prop_kind::forward_training;

  ConvolutionPrimitives found;
  found.forward = {{training, algorithm, in, kernels, biases, out, stride, padding, padding},
                   rectified ? then_rectify() : plain,
                   engine,
                   true};
  if (!found.forward) return found;
  found.weights = {{algorithm, in, kernels, biases, out, stride, padding, padding}, plain, engine, found.forward, true};
  found.data = {{algorithm, in, kernels, out, stride, padding, padding}, plain, engine, found.forward, true};
  return found;
}

// Winograd's algorithm needs a quarter of the multiplications and rounds about as well. On small images or few channels
// its overhead costs more than it saves.
bool suits_winograd(const ImageStage& stage) {
  const auto& layer = std::get<Convolution>(stage.layer);
  return layer.kernel == 3 && layer.stride == 1 && stage.in.size[0] >= 16 && stage.out.size[1] >= 24 &&
         stage.out.size[2] >= 24;
}

ConvolutionPrimitives find_primitives(const ImageStage& stage, bool rectified, const dnnl::engine& engine) {
  if (suits_winograd(stage)) {
    if (auto found = find_primitives(stage, rectified, dnnl::algorithm::convolution_winograd, engine)) return found;
  }
  auto found = find_primitives(stage, rectified, dnnl::algorithm::convolution_direct, engine);
  if (!found) throw Error("oneDNN has no way to compute a convolution");
  return found;
}

// Compiles layers into a program, one after the other. Each layer leaves a function that adds its backward pass: from
// the buffer of its output's derivatives to that of its input's.
class Compiler {
 public:
  Compiler(const std::vector<ImageStage>& stages, OnednnProgram& program) : stages_(stages), program_(program) {}

  void compile() {
    Buffer image = program_.add_buffer(canonical(stages_.front().in), Home::in);
    for (std::size_t k = 0; k < stages_.size(); ++k) image = add_forward(k, image);
    program_.deliver(program_.forward, image, canonical(stages_.back().out), Home::out);

    Buffer delta = program_.add_buffer(canonical(stages_.back().out), Home::out_delta);
    for (; !ways_back_.empty(); ways_back_.pop_back()) delta = ways_back_.back()(delta);
    program_.deliver(program_.backward, delta, canonical(stages_.front().in), Home::in_delta);
  }

 private:
  template <class Kind>
  bool is(std::size_t k) const {
    return k < stages_.size() && std::holds_alternative<Kind>(stages_[k].layer);
  }

  Buffer add_forward(std::size_t k, Buffer in) {
    if (is<Convolution>(k)) return add_convolution(k, in);
    if (is<MaxPooling>(k)) return add_pooling(k, in);
    return is<Rectifier>(k) ? add_rectifier(k, in) : add_tangent(in);
  }

  Buffer add_convolution(std::size_t k, Buffer image) {
    const ImageStage& stage = stages_[k];
    const auto primitives = find_primitives(stage, is<Rectifier>(k + 1), program_.engine());
    const Buffer kernels = program_.add_buffer(layout(kernel_dims(stage), Tag::oihw), Home::weights, stage.weights);
    const Buffer biases =
        program_.add_buffer(layout(bias_dims(stage), Tag::x), Home::weights, stage.weights + stage.kernels);

    const auto& forward = primitives.forward;
    auto& operations = program_.forward;
    const Buffer in = program_.in_layout(operations, image, forward.src_desc());
    const Buffer out = program_.add_buffer(forward.dst_desc());
    program_.add(operations, forward,
                 {{DNNL_ARG_SRC, in},
                  {DNNL_ARG_WEIGHTS, program_.in_layout(operations, kernels, forward.weights_desc())},
                  {DNNL_ARG_BIAS, biases},
                  {DNNL_ARG_DST, out}});
    ways_back_.emplace_back([=, this, &stage](Buffer delta) {
      add_sensitivity(stage, primitives.weights, in, delta);
      return add_data_back(primitives.data, kernels, delta);
    });
    return out;
  }

  void add_sensitivity(const ImageStage& stage, const dnnl::convolution_backward_weights::primitive_desc& primitive,
                       Buffer in, Buffer delta) {
    auto& operations = program_.backward;
    const Buffer kernels = program_.add_buffer(primitive.diff_weights_desc());
    const Buffer biases =
        program_.add_buffer(primitive.diff_bias_desc(), Home::sensitivity, stage.weights + stage.kernels);
    const Buffer seen = program_.in_layout(operations, in, primitive.src_desc());
    const Buffer out_delta = program_.in_layout(operations, delta, primitive.diff_dst_desc());
    program_.add(operations, primitive,
                 {{DNNL_ARG_SRC, seen},
                  {DNNL_ARG_DIFF_DST, out_delta},
                  {DNNL_ARG_DIFF_WEIGHTS, kernels},
                  {DNNL_ARG_DIFF_BIAS, biases}});
    program_.deliver(operations, kernels, layout(kernel_dims(stage), Tag::oihw), Home::sensitivity, stage.weights);
    program_.backward_to_weights = operations.size();
  }

  Buffer add_data_back(const dnnl::convolution_backward_data::primitive_desc& primitive, Buffer kernels, Buffer delta) {
    auto& operations = program_.backward;
    const Buffer in_delta = program_.add_buffer(primitive.diff_src_desc());
    const Buffer weights = program_.in_layout(operations, kernels, primitive.weights_desc());
    const Buffer out_delta = program_.in_layout(operations, delta, primitive.diff_dst_desc());
    program_.add(operations, primitive,
                 {{DNNL_ARG_DIFF_DST, out_delta}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, in_delta}});
    return in_delta;
  }

  Buffer add_pooling(std::size_t k, Buffer in) {
    const ImageStage& stage = stages_[k];
    const auto& layer = std::get<MaxPooling>(stage.layer);
    const auto maximum = dnnl::algorithm::pooling_max;
    const auto attributes = OnednnProgram::attributes();
    const Desc any = layout(dims_of(stage.out), Tag::any);
    const Dims size = both_ways(layer.size);
    const Dims stride = stride_dims(layer.stride, stage.in, 0);
    const Dims none = both_ways(0);
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, maximum, program_.desc(in), any, stride, size, none, none}, attributes,
        program_.engine());
    const dnnl::pooling_backward::primitive_desc back(
        {maximum, program_.desc(in), forward.dst_desc(), stride, size, none, none}, attributes, program_.engine(),
        forward);
    const Buffer out = program_.add_buffer(forward.dst_desc());
    const Buffer picked = program_.add_buffer(forward.workspace_desc());
    program_.add(program_.forward, forward, {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}, {DNNL_ARG_WORKSPACE, picked}});

    ways_back_.emplace_back([=, this](Buffer delta) {
      if (is<Rectifier>(k - 1)) delta = add_activation_back(relu, out, delta);
      const Buffer out_delta = program_.in_layout(program_.backward, delta, back.diff_dst_desc());
      const Buffer in_delta = program_.add_buffer(back.diff_src_desc());
      program_.add(program_.backward, back,
                   {{DNNL_ARG_DIFF_DST, out_delta}, {DNNL_ARG_WORKSPACE, picked}, {DNNL_ARG_DIFF_SRC, in_delta}});
      return in_delta;
    });
    return out;
  }

  // ReLU is fused into the convolution. What a pooling picks is positive where its result is: the pooling
  // then stops the derivatives, of which it has fewer.
  Buffer add_rectifier(std::size_t k, Buffer in) {
    const Buffer out = is<Convolution>(k - 1) ? in : add_activation(relu, in);
    if (!is<MaxPooling>(k + 1)) {
      ways_back_.emplace_back([=, this](Buffer delta) { return add_activation_back(relu, out, delta); });
    }
    return out;
  }

  Buffer add_tangent(Buffer in) {
    const Buffer out = add_activation(tanh, in);
    ways_back_.emplace_back([=, this](Buffer delta) { return add_activation_back(tanh, out, delta); });
    return out;
  }

  dnnl::eltwise_forward::primitive_desc activation(dnnl::algorithm kind, const Desc& image) const {
    return {{dnnl::prop_kind::forward_training, kind, image, 0.0F}, OnednnProgram::attributes(), program_.engine()};
  }

  Buffer add_activation(dnnl::algorithm kind, Buffer in) {
    const Buffer out = program_.add_buffer(program_.desc(in));
    program_.add(program_.forward, activation(kind, program_.desc(in)), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
    return out;
  }

  // In place where the derivatives are ours to change.
  Buffer add_activation_back(dnnl::algorithm kind, Buffer out, Buffer delta) {
    const Desc image = program_.desc(out);
    const Buffer out_delta = program_.in_layout(program_.backward, delta, image);
    const Buffer in_delta = program_.home(out_delta) == Home::run ? out_delta : program_.add_buffer(image);
    const dnnl::eltwise_backward::primitive_desc back({kind, image, image, 0.0F}, OnednnProgram::attributes(),
                                                      program_.engine(), activation(kind, image));
    program_.add(program_.backward, back,
                 {{DNNL_ARG_DST, out}, {DNNL_ARG_DIFF_DST, out_delta}, {DNNL_ARG_DIFF_SRC, in_delta}});
    return in_delta;
  }

  // Their backward passes need the output, not the input.
  static constexpr auto relu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  static constexpr auto tanh = dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;

  const std::vector<ImageStage>& stages_;
  OnednnProgram& program_;
  std::vector<std::function<Buffer(Buffer)>> ways_back_;
};

// By their bits: a loop that compilers vectorise.
bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t exponent = 0x7f80'0000;
  std::uint32_t found = 0;
  for (const float number : numbers) found |= (std::bit_cast<std::uint32_t>(number) & exponent) == exponent ? 1U : 0U;
  return found == 0;
}

struct OnednnPass final : ImagePass<float> {
  explicit OnednnPass(const OnednnProgram& program) : run(program) {}
  OnednnRun run;
};

class OnednnImageLayers final : public ImageGroup<float> {
 public:
  OnednnImageLayers(const Shape& input, const std::vector<ImageLayer>& layers, unsigned threads)
      : ImageGroup(input, layers), threads_(threads) {
    if (threads == 0) throw InvalidArgument("image layers need at least one thread");
    const OpenMpThreads set(threads_);  // primitives are made for as many as they run on
    with_onednn([&] { Compiler(stages(), program_).compile(); });
  }

  std::unique_ptr<Pass<float>> make_pass() const override {
    std::unique_ptr<OnednnPass> pass;
    with_onednn([&] { pass = std::make_unique<OnednnPass>(program_); });
    pass->j.resize(weights());
    return pass;
  }

  void forward(std::span<const float> w, Pass<float>& pass, const RowAnnouncer& /*about_to_read*/) const override {
    const OpenMpThreads set(threads_);
    auto& run = static_cast<OnednnPass&>(pass).run;
    with_onednn([&] {
      run.lend(Home::weights, w.data());
      run.lend(Home::in, pass.in);
      run.lend(Home::out, pass.out);
      run.forward();
    });
    // The relu and max-pool of oneDNN turn NaN into a number.
    if (!all_finite({pass.in, stages().front().in.count()}) || !all_finite(w)) {
      std::fill_n(pass.out, output().count(), std::numeric_limits<float>::quiet_NaN());
    }
  }

  void backward(std::span<const float> w, Pass<float>& pass) const override {
    const OpenMpThreads set(threads_);
    auto& own = static_cast<OnednnPass&>(pass);
    with_onednn([&] {
      own.run.lend(Home::weights, w.data());
      own.run.lend(Home::out_delta, pass.out_delta);
      own.run.lend(Home::in_delta, pass.in_delta);
      own.run.lend(Home::sensitivity, own.j.data());
      own.run.backward(pass.in_delta == nullptr);
    });
  }

 private:
  unsigned threads_;
  OnednnProgram program_;
};

}  // namespace

template <>
std::unique_ptr<Layer<float>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                                unsigned threads) {
  return std::make_unique<OnednnImageLayers>(input, layers, threads);
}

}  // namespace ignd
