#include "data/example_parser.hpp"
#include "examples.hpp"
#include "require.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

using namespace ignd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr auto format = ExampleFormat::svmlight;
  const auto examples = fuzz::check_examples(format, {reinterpret_cast<const char*>(data), size});
  std::string text;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    fuzz::require(std::isfinite(examples.target[i]), "labels are finite");
    text += fmt::format("{}", examples.target[i]);
    for (std::size_t k = examples.begin_of(i); k < examples.end[i]; ++k) {
      text += fmt::format(" {}:{}", examples.index[k], examples.value[k]);
    }
    text += "\n";
  }
  fuzz::require_same(fuzz::parse_good(format, text), examples, "what is written is read again");
  return 0;
}
