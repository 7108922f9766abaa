#include "lab/machine.hpp"

#include "ignd/batch_trainer.hpp"
#include "ignd/random.hpp"
#include "ignd/trainer.hpp"
#include "ignd/vector_loss.hpp"
#include "ignd/version.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace ignd {

std::string describe_host() {
  std::ifstream info("/proc/cpuinfo");
  std::string processor = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.find(": ") + 2, line.size()));
    break;
  }
  return fmt::format("{}, {} kernels", processor, cpu_path());
}

namespace {

// Calls `work` for about this long, at least three times, and returns the time of a call; the first call warms up.
template <class Work>
double seconds_per_call(double seconds, Work work) {
  using Clock = std::chrono::steady_clock;
  work();
  const auto start = Clock::now();
  double elapsed = 0;
  int calls = 0;
  while (calls < 3 || elapsed < seconds) {
    work();
    ++calls;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return elapsed / calls;
}

StepCost measure(const std::string& spec, const Shape& shape, const Optimizer& optimizer) {
  const auto model = make_model<float>(spec);
  const bool tokens = shape.kind == Shape::Kind::tokens;
  RandomStream stream(1, "made-up samples");
  std::vector<float> values(shape.count());
  // Longer texts are truncated; most are shorter.
  std::vector<std::uint32_t> text(tokens ? shape.size[0] * 3 / 4 : 0);
  const auto draw = [&]() -> Sample<float> {
    for (float& value : values) value = static_cast<float>(stream.uniform());
    // Few words are frequent, and most are rare.
    for (auto& token : text) {
      token = static_cast<std::uint32_t>(static_cast<double>(shape.size[1]) * stream.uniform() * stream.uniform());
    }
    return {.x = {values, text}, .y = static_cast<double>(stream.below(2))};
  };
  const Schedule schedule = Schedule::constant(1e-6);
  constexpr double some_time = 0.3;
  StepCost cost;
  if (model->reads_single_samples()) {
    Trainer<float> trainer(*model, {.loss = make_loss("logistic"), .optimizer = optimizer, .schedule = schedule});
    cost.step = seconds_per_call(some_time, [&] { trainer.step(draw()); });
  } else {
    BatchTrainer<float> trainer(*model, {.loss = make_vector_loss(model->outputs() > 1 ? "softmax" : "logistic"),
                                         .optimizer = optimizer,
                                         .schedule = schedule,
                                         .batch = {.size = 1}});
    cost.step = seconds_per_call(some_time, [&] {
      const Sample<float> sample = draw();
      trainer.step({&sample, 1});
    });
  }
  ModelOutputs outputs_of(*model);
  std::vector<double> outputs(outputs_of.count());
  cost.prediction = seconds_per_call(some_time / 3, [&] { outputs_of(draw().x, outputs); });
  return cost;
}

}  // namespace

StepCost measured_cost(const std::string& model, const Shape& input, const Optimizer& optimizer) {
  static std::mutex mutex;
  static std::map<std::string, StepCost> known;
  const std::lock_guard lock(mutex);
  const std::string key = model + "\n" + optimizer.rule + "\n" + optimizer.transform;
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, measure(model, input, optimizer)).first->second;
}

}  // namespace ignd
