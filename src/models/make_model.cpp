#include "base/spec.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "ignd/network.hpp"
#include "models/activation.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

Activation parse_activation(Spec& spec) {
  const auto names = activation_names();
  const std::string word = spec.word("activation", names[0]);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<Activation>(found - names.begin());
  spec.add_fault(fmt::format("there is no activation {}{}", in_quotes(word), suggestion(word, names)));
  return Activation::relu;
}

// "8x32x64"
std::vector<std::size_t> parse_widths(Spec& spec) {
  std::vector<std::size_t> widths;
  const std::string text = spec.word("widths", "");
  try {
    for (std::string_view left = text;;) {
      const auto end = left.find('x');
      widths.push_back(parse_count(left.substr(0, end), "a width"));
      if (widths.back() == 0) throw InvalidArgument("a width is 0");
      if (end == std::string_view::npos) return widths;
      left.remove_prefix(end + 1);
    }
  } catch (const InvalidArgument& fault) {
    spec.add_fault(fault.what());
    return {1};
  }
}

bool parse_bias(Spec& spec) { return spec.count("bias", 1, 0, 1) == 1; }

}  // namespace

template <class T>
std::unique_ptr<Model<T>> make_model(std::string_view text, std::uint64_t seed) {
  constexpr std::string_view network = "network:";
  if (text.starts_with(network)) return std::make_unique<Network<T>>(text.substr(network.size()), seed);
  Spec spec("model", text);
  if (spec.name() == "linear") {
    const std::size_t features = spec.count("features", 0, 0, most_parameters);
    const bool bias = parse_bias(spec);
    spec.finish();
    return std::make_unique<Linear<T>>(features, bias);
  }
  if (spec.name() == "hashed-linear") {
    const auto bits = static_cast<unsigned>(spec.count("bits", 18, 1, 31));
    const bool bias = parse_bias(spec);
    spec.finish();
    return std::make_unique<HashedLinear<T>>(bits, bias);
  }
  if (spec.name() == "mlp") {
    auto widths = parse_widths(spec);
    const MlpOptions options{
        .activation = parse_activation(spec), .seed = seed, .outputs = spec.count("outputs", 1, 1, most_parameters)};
    spec.finish();
    return std::make_unique<Mlp<T>>(std::move(widths), options);
  }
  const std::vector<std::string> known{"linear", "hashed-linear", "mlp", "network"};
  spec.refuse_name(known);
}

template std::unique_ptr<Model<float>> make_model(std::string_view, std::uint64_t);
template std::unique_ptr<Model<double>> make_model(std::string_view, std::uint64_t);

}  // namespace ignd
