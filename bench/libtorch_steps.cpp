// Steps of the paper's networks by this library and by LibTorch, one sample at a time, in turns:
//   build/libtorch/bin/libtorch_steps
// scripts/compare_libtorch.sh installs LibTorch and builds this.
#include "bench/paper_networks.hpp"
#include "ignd/ignd.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <torch/torch.h>

namespace {

using ignd::bench::resting_rate;
using torch::Tensor;

constexpr int rounds = 7;
constexpr int warm_up_steps = 4;

using Step = std::function<void()>;

// What a network reads, as both libraries have it.
struct SampleSet {
  std::vector<std::vector<float>> images;
  std::vector<std::vector<std::uint32_t>> texts;
  std::vector<Tensor> tensors;

  std::size_t size() const { return tensors.size(); }
  ignd::Sample<float> operator[](std::size_t k) const {
    if (!images.empty()) return {{images[k]}, 1};
    return {{.values = {}, .index = texts[k]}, 1};
  }
};

std::shared_ptr<const SampleSet> some_images() {
  auto samples = std::make_shared<SampleSet>();
  ignd::RandomStream stream(1, "steps");
  for (int k = 0; k < 8; ++k) {
    samples->images.push_back(ignd::bench::random_image(stream));
    samples->tensors.push_back(torch::from_blob(samples->images.back().data(), {1, 3, 224, 224}).clone());
  }
  return samples;
}

std::shared_ptr<const SampleSet> some_texts() {
  auto samples = std::make_shared<SampleSet>();
  ignd::RandomStream stream(2, "steps");
  for (int k = 0; k < 64; ++k) {
    samples->texts.push_back(ignd::bench::random_text(stream));
    const std::vector<std::int64_t> tokens(samples->texts.back().begin(), samples->texts.back().end());
    samples->tensors.push_back(torch::tensor(tokens, torch::kLong));
  }
  return samples;
}

struct TorchNetwork : torch::nn::Module {
  virtual Tensor output(const Tensor& x) = 0;
};

struct TorchCnn final : TorchNetwork {
  torch::nn::Conv2d first{nullptr}, second{nullptr}, third{nullptr};
  torch::nn::Linear wide{nullptr}, narrow{nullptr}, head{nullptr};

  TorchCnn() {
    const auto convolution = [](int in, int out) { return torch::nn::Conv2dOptions(in, out, 3).padding(1); };
    first = register_module("first", torch::nn::Conv2d(convolution(3, 32)));
    second = register_module("second", torch::nn::Conv2d(convolution(32, 64)));
    third = register_module("third", torch::nn::Conv2d(convolution(64, 128)));
    wide = register_module("wide", torch::nn::Linear(128 * 28 * 28, 128));
    narrow = register_module("narrow", torch::nn::Linear(128, 64));
    head = register_module("head", torch::nn::Linear(64, 1));
  }

  Tensor output(const Tensor& image) override {
    Tensor x = torch::max_pool2d(torch::relu(first(image)), 2);
    x = torch::max_pool2d(torch::relu(second(x)), 2);
    x = torch::max_pool2d(torch::relu(third(x)), 2);
    x = torch::relu(narrow(torch::relu(wide(x.flatten(1)))));
    return head(x).squeeze();
  }
};

struct TorchLstm final : TorchNetwork {
  torch::nn::Embedding embedding{nullptr};
  torch::nn::LSTM lstm{nullptr};
  torch::nn::Linear head{nullptr};

  explicit TorchLstm(bool sparse) {
    embedding =
        register_module("embedding", torch::nn::Embedding(torch::nn::EmbeddingOptions(100277, 128).sparse(sparse)));
    lstm = register_module("lstm", torch::nn::LSTM(128, 128));
    head = register_module("head", torch::nn::Linear(128, 1));
  }

  Tensor output(const Tensor& tokens) override {
    const Tensor states = std::get<0>(lstm(embedding(tokens).unsqueeze(1)));
    return head(states.select(0, -1)).squeeze();
  }
};

// The squared norm of the gradient that backward has left with the parameters.
double squared_norm(const std::vector<Tensor>& parameters) {
  Tensor sum = torch::zeros({});
  for (const Tensor& parameter : parameters) {
    Tensor& gradient = parameter.mutable_grad();
    if (gradient.is_sparse()) gradient = gradient.coalesce();  // a token may have come twice
    const Tensor values = (gradient.is_sparse() ? gradient._values() : gradient).flatten();
    sum += values.dot(values);
  }
  return sum.item<double>();
}

// With respect to the loss (f - 1)^2 / 2. IGND differentiates f itself and scales what that gives.
class TorchTraining {
 public:
  TorchTraining(std::shared_ptr<TorchNetwork> network, const std::string& optimizer)
      : network_(std::move(network)), parameters_(network_->parameters()), scales_(optimizer.ends_with("ignd")) {
    if (optimizer.starts_with("adam")) {
      adam_ = std::make_unique<torch::optim::Adam>(parameters_, torch::optim::AdamOptions(resting_rate));
    }
  }

  void step(const Tensor& x) {
    for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
    const Tensor output = network_->output(x);
    double scale = 1;
    if (scales_) {
      output.backward();
      scale = (output.item<double>() - 1) / (squared_norm(parameters_) + 1e-8);
    } else {
      torch::square(output - 1).mul(0.5).backward();
    }
    const torch::NoGradGuard no_gradients;
    if (adam_ == nullptr) {
      for (Tensor& parameter : parameters_) parameter.add_(parameter.grad(), -resting_rate * scale);
    } else {
      for (Tensor& parameter : parameters_) {
        if (scales_) parameter.mutable_grad().mul_(scale);
      }
      adam_->step();
    }
  }

 private:
  std::shared_ptr<TorchNetwork> network_;
  std::vector<Tensor> parameters_;
  bool scales_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

Step torch_steps(std::shared_ptr<TorchNetwork> network, const std::string& optimizer,
                 std::shared_ptr<const SampleSet> samples) {
  auto training = std::make_shared<TorchTraining>(std::move(network), optimizer);
  return [training, samples, next = std::size_t{0}]() mutable {
    training->step(samples->tensors[next]);
    next = (next + 1) % samples->size();
  };
}

Step our_steps(const std::string& text, const std::string& optimizer, std::shared_ptr<const SampleSet> samples) {
  auto network = std::make_shared<ignd::Network<float>>(text);
  auto trainer = std::make_shared<ignd::Trainer<float>>(
      *network, ignd::TrainerOptions{.optimizer = ignd::find_optimizer(optimizer),
                                     .schedule = ignd::Schedule::constant(resting_rate)});
  return [network, trainer, samples, next = std::size_t{0}]() mutable {
    if (trainer->step((*samples)[next]).status != ignd::StepStatus::learned) throw ignd::Error("a run ended early");
    next = (next + 1) % samples->size();
  };
}

double milliseconds_per_step(const Step& step, int steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < steps; ++k) step();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  return time.count() / steps;
}

// Round by round, ours and theirs; of each the best, since others may use the machine too.
void compare(const char* network, const std::string& optimizer, int threads, const Step& ours, const Step& theirs,
             int steps) {
  milliseconds_per_step(ours, warm_up_steps);
  milliseconds_per_step(theirs, warm_up_steps);
  double our_best = std::numeric_limits<double>::infinity();
  double their_best = our_best;
  for (int round = 0; round < rounds; ++round) {
    our_best = std::min(our_best, milliseconds_per_step(ours, steps));
    their_best = std::min(their_best, milliseconds_per_step(theirs, steps));
  }
  std::printf("%-8s %-10s %7d %10.2f %10.2f %7.1f\n", network, optimizer.c_str(), threads, our_best, their_best,
              their_best / our_best);
  std::fflush(stdout);
}

void compare_cnns(int threads) {
  at::set_num_threads(threads);
  const auto images = some_images();
  for (const std::string optimizer : {"sgd", "ignd", "adam", "adam-ignd"}) {
    const std::string text = "threads " + std::to_string(threads) + "; " + ignd::bench::cnn_text;
    compare("cnn", optimizer, threads, our_steps(text, optimizer, images),
            torch_steps(std::make_shared<TorchCnn>(), optimizer, images), 2);
  }
}

void compare_lstms() {
  at::set_num_threads(1);
  const auto texts = some_texts();
  for (const std::string optimizer : {"sgd", "ignd", "adam", "adam-ignd"}) {
    const bool sparse = !optimizer.starts_with("adam");  // LibTorch's Adam takes dense gradients only
    compare("lstm", optimizer, 1, our_steps(ignd::bench::lstm_text, optimizer, texts),
            torch_steps(std::make_shared<TorchLstm>(sparse), optimizer, texts), 4);
  }
}

}  // namespace

int main() {
  try {
    torch::manual_seed(1);
    std::printf("milliseconds per step of one sample, float; best of %d rounds in turns; LibTorch %s\n", rounds,
                TORCH_VERSION);
    std::printf("%-8s %-10s %7s %10s %10s %7s\n", "network", "optimizer", "threads", "ignd", "LibTorch", "ratio");
    compare_lstms();
    compare_cnns(1);
    compare_cnns(2);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "libtorch_steps: %s\n", fault.what());
    return 1;
  }
}
