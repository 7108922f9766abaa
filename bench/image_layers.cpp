// How long the paper's image layers take for one sample, all and one after the other, beside what the multiplications
// of a convolution by its definition take at the processor's peak:
//   build/bench/bin/image_layers [THREADS]
// DNNL_VERBOSE=1 shows the primitives.
#include "models/image_layers.hpp"

#include "bench/peaks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using ignd::Convolution;
using ignd::ImageLayer;
using ignd::MaxPooling;
using ignd::Rectifier;
using ignd::Shape;

constexpr int repetitions = 100;

// The best of many: others may use the machine too.
double milliseconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

double peak_per_millisecond() {
  double work = 0;
  const double time = milliseconds([&] { work = ignd::bench::multiply_adds<float>(20000); });
  return work / time;
}

std::vector<float> normal_numbers(std::size_t count, ignd::RandomStream& stream) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(stream.normal());
  return numbers;
}

// Multiplications: one for every weight at every place, for the output and for each of its two derivatives.
struct Multiplications {
  double forward = 0;
  double backward = 0;
};

void measure(const char* name, const Shape& input, const std::vector<ImageLayer>& layers, bool first, unsigned threads,
             Multiplications floor, double peak) {
  const auto layer = ignd::make_image_layers<float>(input, layers, threads);
  ignd::RandomStream stream(1, "image layers");
  std::vector<float> w(layer->weights());
  layer->fill_initial(w, stream);
  const auto in = normal_numbers(input.count(), stream);
  const auto out_delta = normal_numbers(layer->output().count(), stream);
  std::vector<float> out(layer->output().count());
  std::vector<float> in_delta(input.count());
  const auto pass = layer->make_pass();
  pass->in = in.data();
  pass->out = out.data();
  pass->out_delta = out_delta.data();
  pass->in_delta = first ? nullptr : in_delta.data();
  ignd::Sensitivity<float> j;
  layer->add_blocks(0, *pass, j);
  pass->blocks = j;
  const double forward = milliseconds([&] { layer->forward(w, *pass, {nullptr, 0}); });
  const double backward = milliseconds([&] { layer->backward(w, *pass); });
  std::printf("%-28s %u  forward %6.2f ms (%5.2f)  backward %6.2f ms (%5.2f)  both %6.2f ms (%5.2f)\n", name, threads,
              forward, floor.forward / peak, backward, floor.backward / peak, forward + backward,
              (floor.forward + floor.backward) / peak);
}

Multiplications multiplications(std::size_t in, std::size_t out, std::size_t size, bool first) {
  const auto once = static_cast<double>(in * out * 9 * size * size);
  return {once, first ? once : 2 * once};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const unsigned threads = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
    const double peak = peak_per_millisecond() * threads;
    std::printf("peak: %.1f billion multiply-adds per second; in brackets: the floor\n", peak / 1e6);
    const std::vector<std::size_t> channels{3, 32, 64, 128};
    std::vector<ImageLayer> all;
    Multiplications sum;
    std::size_t size = 224;
    for (std::size_t k = 0; k < 3; ++k, size /= 2) {
      const std::vector<ImageLayer> one{Convolution{channels[k + 1], 3, 1, 1}, Rectifier{}, MaxPooling{2, 2}};
      const bool first = k == 0;
      const Multiplications part = multiplications(channels[k], channels[k + 1], size, first);
      measure(("convolution " + std::to_string(channels[k + 1]) + ", relu, max-pool").c_str(),
              Shape::image(channels[k], size, size), one, first, threads, part, peak);
      all.insert(all.end(), one.begin(), one.end());
      sum.forward += part.forward;
      sum.backward += part.backward;
    }
    measure("all nine", Shape::image(3, 224, 224), all, true, threads, sum, peak);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "image_layers: %s\n", fault.what());
    return 1;
  }
}
