// Writes a file of sparse examples to measure `ignd train --stream` with: every example has 40 of 2^18 features, in
// order, with N(0,1) values, and a target that is linear in them.
//   build/release/bin/sparse_file svmlight|vw EXAMPLES > FILE
#include "ignd/random.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: sparse_file svmlight|vw EXAMPLES\n", stderr);
    return 2;
  }
  const bool vw = std::string(argv[1]) == "vw";
  constexpr std::size_t features = std::size_t{1} << 18;
  ignd::RandomStream stream(1, "sparse file");
  std::vector<double> weights(features);
  for (double& weight : weights) weight = stream.normal();
  std::array<std::size_t, 40> index{};
  for (long left = std::atol(argv[2]); left > 0; --left) {
    for (std::size_t& feature : index) feature = stream.below(features);
    std::ranges::sort(index);
    double y = 0;
    std::string line;
    for (const std::size_t feature : index) {
      const double x = stream.normal();
      y += weights[feature] * x;
      line += fmt::format(" {}:{:.4f}", feature, x);
    }
    fmt::print("{:.4f}{}{}\n", y, vw ? " |" : "", line);
  }
  return 0;
}
