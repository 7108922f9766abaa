#include "bench/paper_networks.hpp"
#include "bench/rows.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace ignd::bench {
namespace {

constexpr std::size_t image_count = 8;
constexpr std::size_t text_count = 256;
constexpr std::size_t batch_size = 8;            // as many as there are images
constexpr double network_round_seconds = 50e-3;  // several steps

// Layers of more weights than this are read from memory at every step.
constexpr std::size_t cached_weights = std::size_t{4} << 20;

struct NetworkSamples {
  std::vector<std::vector<float>> images;
  std::vector<std::vector<std::uint32_t>> texts;

  std::size_t size() const { return images.size() + texts.size(); }
  Sample<float> operator[](std::size_t k) const {
    if (!images.empty()) return {{images[k]}, 1};
    return {{.values = {}, .index = texts[k]}, 1};
  }
};

NetworkSamples some_images() {
  RandomStream stream(5, "bench");
  NetworkSamples samples;
  for (std::size_t k = 0; k < image_count; ++k) samples.images.push_back(random_image(stream));
  return samples;
}

NetworkSamples some_texts() {
  RandomStream stream(6, "bench");
  NetworkSamples samples;
  for (std::size_t k = 0; k < text_count; ++k) samples.texts.push_back(random_text(stream));
  return samples;
}

// One for every weight at every place, for the output and for each of its two derivatives; the derivatives with respect
// to the image are not needed.
double convolution_multiply_adds() {
  double sum = 0;
  const std::array<double, 4> channels{3, 32, 64, 128};
  double size = 224;
  for (std::size_t k = 0; k < 3; ++k, size /= 2) {
    sum += (k == 0 ? 2 : 3) * 9 * channels[k] * channels[k + 1] * size * size;
  }
  return sum;
}

// Per step a product with the inputs, one with the state, and twice as much for the derivatives.
double lstm_multiply_adds() { return 256.0 * 3 * (128 + 128) * 4 * 128; }

// What the update touches, by the blocks of a sample's sensitivity, and all else that a dense layer does.
class BlockWork {
 public:
  BlockWork(Work& work, const Optimizer& optimizer) : work_(work), adam_(takes_roots(optimizer)) {}

  void operator()(const Outer<float>& block) {
    const std::size_t weights = block.active.size() * block.v.size();
    const auto count = static_cast<double>(weights);
    work_.multiply_adds += 3 * count;  // forward, backward and update
    if (weights <= cached_weights) return add_update(count);
    const double bytes = count * sizeof(float);
    work_.memory_reads += 2 * bytes;  // forward and backward
    work_.memory_updates += adam_ ? 3 * bytes : bytes;
    if (adam_) work_.roots += count;
  }
  void operator()(const Dense<float>& block) { add_update(static_cast<double>(block.j.size())); }
  void operator()(const SparseRows<float>& block) { add_update(static_cast<double>(block.rows.size())); }

 private:
  void add_update(double weights) {
    work_.weight_bytes += weights * sizeof(float);
    if (adam_) work_.roots += weights;
  }

  Work& work_;
  bool adam_;
};

// The same of a batch, divided among its samples: dense layers go through all their rows, and once.
class BatchBlockWork {
 public:
  BatchBlockWork(Work& work, bool exact) : work_(work), exact_(exact) {}

  void operator()(const Outer<float>& block) {
    const std::size_t weights = block.u.size() * block.v.size();
    const auto count = static_cast<double>(weights);
    const double bytes = count * sizeof(float) / batch_size;
    work_.multiply_adds += 3 * count;
    add_gram(block.u.size() + block.v.size());
    if (weights <= cached_weights) {
      work_.weight_bytes += bytes;
    } else {
      work_.memory_reads += 2 * bytes;
      work_.memory_updates += bytes;
    }
  }
  void operator()(const Dense<float>& block) {
    work_.weight_bytes += static_cast<double>(block.j.size() * sizeof(float));
    add_gram(block.j.size());
  }
  void operator()(const SparseRows<float>& block) {
    work_.weight_bytes += static_cast<double>(block.rows.size() * sizeof(float));
  }

 private:
  // Half of it, which is symmetric.
  void add_gram(std::size_t numbers) {
    if (exact_) work_.multiply_adds += static_cast<double>(batch_size * numbers) / 2;
  }

  Work& work_;
  bool exact_;
};

template <class BlockVisitor>
void visit_blocks(const Model<float>& model, const Input<float>& x, BlockVisitor& visitor) {
  Trace<float> trace(model);
  model.predict(x, trace);
  model.sensitivity(x, trace);
  for (const Block<float>& block : trace.j) std::visit(visitor, block);
}

Work block_work(const Model<float>& model, const Optimizer& optimizer, const Input<float>& x) {
  Work work;
  BlockWork add(work, optimizer);
  visit_blocks(model, x, add);
  return work;
}

Measured measure(const std::string& spec, const Optimizer& optimizer, NetworkSamples&& owned) {
  auto run = std::make_shared<Run<float>>(spec, optimizer, resting_rate);
  auto samples = std::make_shared<const NetworkSamples>(std::move(owned));
  Measured measured{.work = block_work(*run->model, optimizer, (*samples)[0].x), .timed = {}};
  measured.timed.pass = [run, samples, next = std::size_t{0}]() mutable {
    run->trainer->step((*samples)[next]);
    next = (next + 1) % samples->size();
    run->require_health();
  };
  measured.timed.warm_up_units = static_cast<double>(samples->size());
  measured.timed.round_seconds = network_round_seconds;
  return measured;
}

Measured measure_batches(const std::string& spec, const BatchKind& kind, NetworkSamples&& owned) {
  const std::shared_ptr<Model<float>> model = make_model<float>(spec);
  auto trainer = std::make_shared<BatchTrainer<float>>(
      *model, BatchTrainerOptions{.optimizer = find_optimizer(kind.optimizer),
                                  .schedule = Schedule::constant(resting_rate),
                                  .batch = {.size = batch_size, .mode = kind.mode}});
  auto samples = std::make_shared<const NetworkSamples>(std::move(owned));
  Measured measured;
  BatchBlockWork add(measured.work, kind.mode == BatchMode::exact);
  visit_blocks(*model, (*samples)[0].x, add);
  measured.timed.pass = [model, trainer, samples, batch = std::vector<Sample<float>>(batch_size),
                         next = std::size_t{0}]() mutable {
    for (Sample<float>& sample : batch) {
      sample = (*samples)[next];
      next = (next + 1) % samples->size();
    }
    trainer->step(batch);
    if (trainer->status() != StepStatus::learned) throw Error("a benchmark run ended early");
  };
  measured.timed.units_per_pass = batch_size;
  measured.timed.warm_up_units = static_cast<double>(samples->size());
  measured.timed.round_seconds = network_round_seconds;
  return measured;
}

Row cnn_row(const char* optimizer, unsigned threads) {
  return {.model = "cnn:32,64,128/128,64",
          .optimizer = optimizer,
          .precision = "float",
          .start =
              [=] {
                Measured measured = measure(fmt::format("network:threads {}; {}", threads, cnn_text),
                                            find_optimizer(optimizer), some_images());
                measured.work.shared_multiply_adds = convolution_multiply_adds();
                return measured;
              },
          .threads = threads};
}

Row lstm_row(const char* optimizer) {
  return {.model = "lstm:128x128", .optimizer = optimizer, .precision = "float", .start = [=] {
            Measured measured = measure(fmt::format("network:{}", lstm_text), find_optimizer(optimizer), some_texts());
            measured.work.multiply_adds += lstm_multiply_adds();
            return measured;
          }};
}

Row cnn_batch_row(const BatchKind& kind) {
  return {.model = "cnn:32,64,128/128,64",
          .optimizer = fmt::format("{} b={}", kind.name, batch_size),
          .precision = "float",
          .start = [=] {
            Measured measured = measure_batches(fmt::format("network:{}", cnn_text), kind, some_images());
            measured.work.multiply_adds += convolution_multiply_adds();
            return measured;
          }};
}

Row lstm_batch_row(const BatchKind& kind) {
  return {.model = "lstm:128x128",
          .optimizer = fmt::format("{} b={}", kind.name, batch_size),
          .precision = "float",
          .start = [=] {
            Measured measured = measure_batches(fmt::format("network:{}", lstm_text), kind, some_texts());
            measured.work.multiply_adds += lstm_multiply_adds();
            return measured;
          }};
}

}  // namespace

std::vector<Row> network_rows() {
#ifdef IGND_HAS_ONEDNN
  constexpr bool convolves = true;
#else
  constexpr bool convolves = false;
#endif
  std::vector<Row> rows;
  for (const char* optimizer : {"sgd", "ignd", "adam", "adam-ignd"}) {
    if (convolves) {
      rows.push_back(cnn_row(optimizer, 1));
      rows.push_back(cnn_row(optimizer, 2));
    }
    rows.push_back(lstm_row(optimizer));
  }
  for (const BatchKind& kind : {batched_sgd, averaged_ignd, exact_ignd}) {
    if (convolves) rows.push_back(cnn_batch_row(kind));
    rows.push_back(lstm_batch_row(kind));
  }
  return rows;
}

}  // namespace ignd::bench
