// Prints what tests/recorded_networks_test.cpp holds: outputs and sensitivities of two small networks as LibTorch has
// them, in double.
//   build/libtorch/bin/record_networks
// All weights are one flat array in the layout of docs/networks.md, which autograd differentiates with respect to.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <torch/torch.h>

namespace {

using torch::Tensor;

constexpr std::int64_t spacing = 13;  // of the entries that are printed: it divides no width of the networks

Tensor wave(std::int64_t count, double pace, double phase) {
  return torch::sin(torch::arange(count, torch::kDouble) * pace + phase);
}

// Takes the layers' weights off the flat array, one after the other.
class Weights {
 public:
  explicit Weights(std::int64_t count) : flat_((wave(count, 0.7, 0.3) / 2).requires_grad_(true)) {}

  Tensor take(std::vector<std::int64_t> shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const Tensor part = flat_.slice(0, taken_, taken_ + count).view(shape);
    taken_ += count;
    return part;
  }
  const Tensor& flat() const { return flat_; }
  bool all_taken() const { return taken_ == flat_.numel(); }

 private:
  Tensor flat_;
  std::int64_t taken_ = 0;
};

Tensor dense(Weights& weights, const Tensor& x, std::int64_t units) {
  const Tensor matrix = weights.take({x.size(0), units});
  return x.matmul(matrix) + weights.take({units});
}

Tensor convolution(Weights& weights, const Tensor& x, std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                   std::int64_t padding) {
  const Tensor kernels = weights.take({channels, x.size(1), kernel, kernel});
  return torch::conv2d(x, kernels, weights.take({channels}), stride, padding);
}

// The last state of LibTorch's own LSTM, which has a row for each gate and unit, and biases twice.
Tensor last_of_lstm(Weights& weights, const Tensor& x, std::int64_t units) {
  const Tensor from_inputs = weights.take({x.size(1), 4 * units}).t();
  const Tensor from_state = weights.take({units, 4 * units}).t();
  const Tensor biases = weights.take({4 * units});
  const Tensor zero = torch::zeros({1, 1, units}, torch::kDouble);
  const auto outputs =
      torch::lstm(x.unsqueeze(1), {zero, zero}, {from_inputs, from_state, biases, torch::zeros_like(biases)}, true, 1,
                  0, false, false, false);
  return std::get<0>(outputs).select(0, -1).select(0, 0);
}

void print(const Weights& weights, const Tensor& output) {
  if (!weights.all_taken()) throw std::runtime_error("a network has other weights than were counted");
  output.backward();
  const Tensor j = weights.flat().grad();
  const std::int64_t count = j.numel();
  std::printf("     {%.17g,\n      {%.17g, %.17g, %.17g},\n      {", output.item<double>(), j.sum().item<double>(),
              j.square().sum().item<double>(), (j * wave(count, 1.3, 0.1)).sum().item<double>());
  for (std::int64_t k = 0; k < count; k += spacing) std::printf("%s%.17g", k == 0 ? "" : ", ", j[k].item<double>());
  std::printf("}}},\n");
}

// image 2 13 8; convolution 3; relu; max-pool; convolution 4 2 2 1; tanh; max-pool 2 1; flatten; dense 5; relu; dense 1
void record_images(double phase) {
  Weights weights(240);
  Tensor x = wave(2 * 13 * 8, 0.9, phase).view({1, 2, 13, 8});
  x = torch::max_pool2d(torch::relu(convolution(weights, x, 3, 3, 1, 1)), 2, 2);
  x = torch::max_pool2d(torch::tanh(convolution(weights, x, 4, 2, 2, 1)), 2, 1);
  x = torch::relu(dense(weights, x.flatten(), 5));
  std::printf("    {%g,\n", phase);
  print(weights, dense(weights, x, 1)[0]);
}

// tokens 7 11; embedding 3; lstm 4; last; dense 1
void record_texts(std::vector<std::int64_t> tokens) {
  Weights weights(166);
  const Tensor x = torch::embedding(weights.take({11, 3}), torch::tensor(tokens, torch::kLong));
  const Tensor h = last_of_lstm(weights, x, 4);
  const char* separator = "    {{";
  for (const std::int64_t token : tokens) {
    std::printf("%s%ld", separator, static_cast<long>(token));
    separator = ", ";
  }
  std::printf("},\n");
  print(weights, dense(weights, h, 1)[0]);
}

}  // namespace

int main() {
  try {
    record_images(0.2);
    record_images(2.5);
    record_texts({3, 1, 4, 1, 5, 9, 2});
    record_texts({10, 0, 0});
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "record_networks: %s\n", fault.what());
    return 1;
  }
}
