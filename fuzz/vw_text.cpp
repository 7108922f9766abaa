#include "data/example_parser.hpp"
#include "examples.hpp"
#include "require.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

using namespace ignd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr auto format = ExampleFormat::vw;
  const auto examples = fuzz::check_examples(format, {reinterpret_cast<const char*>(data), size});
  std::string text;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const double target = examples.target[i];
    fuzz::require(!std::isinf(target), "labels are finite");
    fuzz::require(!std::isnan(target) || examples.weight[i] == 1, "an importance needs a label");
    if (!std::isnan(target)) text += fmt::format("{} {} ", target, examples.weight[i]);
    text += "|";
    for (std::size_t k = examples.begin_of(i); k < examples.end[i]; ++k) {
      text += fmt::format(" {}:{}", examples.index[k], examples.value[k]);
    }
    text += "\n";
  }
  fuzz::require_same(fuzz::parse_good(format, text), examples, "what is written is read again");
  return 0;
}
