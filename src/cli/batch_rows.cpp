#include "cli/batch_rows.hpp"

#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

struct BatchRun {
  std::unique_ptr<Model<float>> model;
  std::unique_ptr<BatchTrainer<float>> trainer;
  Samples<float> samples;
  std::vector<std::uint32_t> order;
  std::vector<Sample<float>> batch;

  BatchRun(const std::string& spec, std::size_t features, const Optimizer& optimizer, const BatchOptions& options)
      : model(make_model<float>(spec)),
        trainer(std::make_unique<BatchTrainer<float>>(
            *model,
            BatchTrainerOptions{.optimizer = optimizer, .schedule = Schedule::constant(1e-4), .batch = options})),
        samples(features),
        order(sample_count) {
    RandomStream stream(1, "bench");
    std::vector<float> x(features);
    for (std::size_t i = 0; i < sample_count; ++i) {
      for (float& value : x) value = static_cast<float>(stream.normal());
      samples.add(x, x[0] + 0.1 * stream.normal());
    }
    std::iota(order.begin(), order.end(), 0U);
    stream.shuffle(order);
    batch.reserve(options.size);
  }

  void pass() {
    const std::size_t size = trainer->options().batch.size;
    for (std::size_t start = 0; start < sample_count; start += size) {
      batch.clear();
      for (std::size_t k = start; k < start + size; ++k) batch.push_back(samples[order[k]]);
      trainer->step(batch);
    }
    if (trainer->status() != StepStatus::learned) throw Error("a benchmark run ended early");
  }
};

// For each sample: forward, update and, but for the first layer, backward; of an exact step half of the Gram matrix,
// which is symmetric, and Cholesky's factors, whose doubles count twice. Weights are written once for each batch.
Work work_of(const std::vector<std::size_t>& widths, std::size_t size, bool exact, bool roots) {
  Work work;
  const auto b = static_cast<double>(size);
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t outputs = l + 1 < widths.size() ? widths[l + 1] : 1;
    const auto weights = static_cast<double>((widths[l] + 1) * outputs);
    work.multiply_adds += weights * (l == 0 ? 2 : 3);
    work.weight_bytes += weights * sizeof(float) / b;
    if (exact) work.multiply_adds += b / 2 * static_cast<double>(widths[l] + 1 + outputs);
    if (roots) work.roots += weights / b;
  }
  if (exact) work.multiply_adds += 2 * b * b / 6;
  return work;
}

}  // namespace

std::vector<Row> batch_rows() {
  const std::vector<std::size_t> paper{8, 32, 64, 32}, linear{64};
  std::vector<Row> rows;
  for (const auto& [spec, widths] :
       {std::pair("mlp:widths=8x32x64x32", paper), std::pair("linear:features=64", linear)}) {
    for (const std::size_t size : {8U, 32U, 128U}) {
      for (const BatchKind& kind : {batched_sgd, averaged_ignd, exact_ignd, batched_adam}) {
        const BatchOptions options{.size = size, .mode = kind.mode, .lambda = 1};
        const Optimizer optimizer = find_optimizer(kind.optimizer);
        const Work work = work_of(widths, size, kind.mode == BatchMode::exact, takes_roots(optimizer));
        rows.push_back({spec, fmt::format("{} b={}", kind.name, size), "float",
                        [spec = std::string(spec), features = widths[0], optimizer, options, work] {
                          auto run = std::make_shared<BatchRun>(spec, features, optimizer, options);
                          return Measured{work, {[run] { run->pass(); }, static_cast<double>(sample_count)}};
                        }});
      }
    }
  }
  return rows;
}

}  // namespace ignd::cli
