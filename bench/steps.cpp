// Takes so many steps and nothing else, for counting instructions:
//   valgrind --tool=callgrind build/bench/bin/steps mlp ignd 20000
// Two counts of steps give the cost of one: start-up cancels.
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
  ignd::Stream stream(1, "steps");
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
  ignd::Stream stream(1, "steps");
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

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw ignd::InvalidArgument("usage: steps mlp|hashed OPTIMIZER STEPS");
    const ignd::TrainerOptions options{.optimizer = ignd::find_optimizer(argv[2]),
                                       .schedule = ignd::Schedule::constant(1e-3)};
    (std::string(argv[1]) == "mlp" ? train_network : train_hashed)(options, std::strtoul(argv[3], nullptr, 10));
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "steps: %s\n", fault.what());
    return 1;
  }
}
