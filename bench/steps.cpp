// Takes the given number of steps and nothing else, for counting instructions:
//   valgrind --tool=callgrind build/bench/bin/steps mlp ignd 20000
// Two counts of steps give the cost of one: start-up cancels. `cnn` and `lstm` are the paper's networks, for perf:
//   perf record build/bench/bin/steps lstm ignd 3000
#include "bench/paper_networks.hpp"
#include "ignd/ignd.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::size_t distinct = 256;  // samples, taken again and again

void train_network(const ignd::TrainerOptions& options, std::size_t steps) {
  ignd::RandomStream stream(1, "steps");
  ignd::Samples<float> samples(8);
  std::vector<float> x(8);
  for (std::size_t i = 0; i < distinct; ++i) {
    for (float& value : x) value = static_cast<float>(stream.normal());
    samples.add(x, x[0]);
  }
  std::vector<std::uint32_t> order(distinct);
  std::iota(order.begin(), order.end(), 0U);
  ignd::Mlp<float> model({8, 32, 64, 32});
  ignd::Trainer<float> trainer(model, options);
  for (std::size_t done = 0; done < steps; done += distinct) {
    ignd::learn<float>(trainer, samples, std::span(order).first(std::min(distinct, steps - done)));
  }
}

void train_hashed(const ignd::TrainerOptions& options, std::size_t steps) {
  constexpr std::size_t active = 40;
  ignd::RandomStream stream(1, "steps");
  std::vector<std::uint32_t> index(distinct * active);
  const std::vector<float> values(active, 1.0F);
  for (std::size_t i = 0; i < distinct; ++i) {
    const auto row = std::span(index).subspan(i * active, active);
    for (std::uint32_t& feature : row) feature = static_cast<std::uint32_t>(stream.below(1U << 18));
    std::sort(row.begin(), row.end());
  }
  ignd::HashedLinear<float> model(18, false);
  ignd::Trainer<float> trainer(model, options);
  std::vector<ignd::Sample<float>> samples;
  for (std::size_t i = 0; i < distinct; ++i)
    samples.push_back({{values, std::span(index).subspan(i * active, active)}, 1});
  for (std::size_t done = 0; done < steps; done += distinct) {
    ignd::learn<float>(trainer, std::span<const ignd::Sample<float>>(samples).first(std::min(distinct, steps - done)));
  }
}

void train_cnn(const ignd::TrainerOptions& options, std::size_t steps) {
  ignd::RandomStream stream(1, "steps");
  std::vector<std::vector<float>> images;
  for (std::size_t i = 0; i < 8; ++i) images.push_back(ignd::bench::random_image(stream));
  ignd::Network<float> model(ignd::bench::cnn_text);
  ignd::Trainer<float> trainer(model, options);
  for (std::size_t i = 0; i < steps; ++i) trainer.step({{images[i % images.size()]}, 1});
}

void train_lstm(const ignd::TrainerOptions& options, std::size_t steps) {
  ignd::RandomStream stream(1, "steps");
  std::vector<std::vector<std::uint32_t>> texts;
  for (std::size_t i = 0; i < distinct; ++i) texts.push_back(ignd::bench::random_text(stream));
  ignd::Network<float> model(ignd::bench::lstm_text);
  ignd::Trainer<float> trainer(model, options);
  for (std::size_t i = 0; i < steps; ++i) trainer.step({{.values = {}, .index = texts[i % texts.size()]}, 1});
}

using Train = void(const ignd::TrainerOptions& options, std::size_t steps);

Train* find_training(const std::string& model) {
  if (model == "mlp") return train_network;
  if (model == "hashed") return train_hashed;
  if (model == "cnn") return train_cnn;
  if (model == "lstm") return train_lstm;
  throw ignd::InvalidArgument("there is no model '" + model + "'; use mlp, hashed, cnn or lstm");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw ignd::InvalidArgument("usage: steps mlp|hashed|cnn|lstm OPTIMIZER STEPS");
    const std::string model = argv[1];
    const double rate = model == "cnn" || model == "lstm" ? ignd::bench::resting_rate : 1e-3;
    const ignd::TrainerOptions options{.optimizer = ignd::find_optimizer(argv[2]),
                                       .schedule = ignd::Schedule::constant(rate)};
    find_training(model)(options, std::strtoul(argv[3], nullptr, 10));
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "steps: %s\n", fault.what());
    return 1;
  }
}
