// Learns rents one at a time, predicts one, and saves a model that the tool reads, too:
//
//     online
//     ignd predict rents.ignd new.csv
#include <cstdio>
#include <exception>

#include <ignd/stream.hpp>

int main() try {
  ignd::OnlineLearner rents("rent", {.loss = "squared"});
  for (int i = 0; i < 2000; ++i) {
    const int size = 20 + i * 37 % 100;
    const bool is_central = i % 3 == 0;
    rents.learn({{"size", size}, {"town", is_central ? "Ulm" : "Kiel"}}, 12 * size + (is_central ? 200 : 0));
  }
  std::printf("rent of 50 in Ulm: %.0f\n", rents.predict({{"size", 50}, {"town", "Ulm"}}).value);
  std::printf("mean squared error so far: %.4g\n", rents.statistics().average_loss().value_or(0));
  rents.save("rents.ignd");
} catch (const std::exception& fault) {
  std::fprintf(stderr, "online: %s\n", fault.what());
  return 1;
}
