#include "models/model_specs.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/ensemble.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "ignd/network.hpp"

#include <algorithm>
#include <cstdint>

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

MlpOptions parse_mlp(Spec& spec, std::uint64_t seed) {
  return {.activation = parse_activation(spec), .seed = seed, .outputs = spec.count("outputs", 1, 1, most_parameters)};
}

bool parse_bias(Spec& spec) { return spec.count("bias", 1, 0, 1) == 1; }

// Joins layer(count) over all counts of a list.
template <class Layer>
std::string for_each_count(std::string_view list, char separator, std::string_view whole, Layer layer) {
  std::string layers;
  for (;;) {
    const auto end = list.find(separator);
    const std::uint64_t count = parse_count(list.substr(0, end), fmt::format("a width of {}", in_quotes(whole)));
    layers += layer(count);
    if (end == std::string_view::npos) return layers;
    list.remove_prefix(end + 1);
  }
}

std::string cnn_layers(std::string_view list, std::string_view whole, std::size_t outputs) {
  const auto slash = list.find('/');
  std::string layers = for_each_count(list.substr(0, slash), ',', whole, [](std::uint64_t channels) {
    return fmt::format("convolution {}; relu; max-pool; ", channels);
  });
  layers += "flatten; ";
  if (slash != std::string_view::npos) {
    layers += for_each_count(list.substr(slash + 1), ',', whole,
                             [](std::uint64_t width) { return fmt::format("dense {}; relu; ", width); });
  }
  return layers + fmt::format("dense {}", outputs);
}

std::string lstm_layers(std::string_view list, std::string_view whole, std::size_t outputs) {
  const auto times = list.find('x');
  if (times == std::string_view::npos) {
    throw InvalidArgument(
        fmt::format("{} needs the width of the embedding and the number of units, such as "
                    "lstm:128x128",
                    in_quotes(whole)));
  }
  const std::string what = fmt::format("a width of {}", in_quotes(whole));
  return fmt::format("embedding {}; lstm {}; last; dense {}", parse_count(list.substr(0, times), what),
                     parse_count(list.substr(times + 1), what), outputs);
}

}  // namespace

std::vector<std::string> activation_names() { return {"relu", "tanh", "identity"}; }

std::string activation_name(Activation activation) {
  return activation_names().at(static_cast<std::size_t>(activation));
}

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
    const MlpOptions options = parse_mlp(spec, seed);
    spec.finish();
    return std::make_unique<Mlp<T>>(std::move(widths), options);
  }
  if (spec.name() == "ensemble") {
    auto widths = parse_widths(spec);
    const EnsembleOptions options{.members = spec.count("members", 1, 1, most_parameters),
                                  .linear = spec.count("linear", 0, 0, 1) == 1,
                                  .network = parse_mlp(spec, seed)};
    spec.finish();
    return std::make_unique<Ensemble<T>>(std::move(widths), options);
  }
  const std::vector<std::string> known{"linear", "hashed-linear", "mlp", "ensemble", "network"};
  spec.refuse_name(known);
}

template std::unique_ptr<Model<float>> make_model(std::string_view, std::uint64_t);
template std::unique_ptr<Model<double>> make_model(std::string_view, std::uint64_t);

bool is_network_name(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return name == "cnn" || name == "lstm" || name == "network";
}

std::string named_network(std::string_view text, const Shape& input, std::size_t outputs) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  std::string threads;
  std::string layers;
  if (name == "cnn") {
    if (input.kind != Shape::Kind::image) throw InvalidArgument("a cnn reads images, but these samples are not images");
    layers = cnn_layers(rest, text, outputs);
  } else if (name == "lstm") {
    if (input.kind != Shape::Kind::tokens)
      throw InvalidArgument("an lstm reads texts, but these samples are not texts");
    layers = lstm_layers(rest, text, outputs);
  } else if (name == "network") {
    layers = rest;
    if (rest.starts_with("threads ") && rest.find(';') != std::string_view::npos) {
      threads = fmt::format("{}; ", rest.substr(0, rest.find(';')));
      layers = rest.substr(std::min(rest.find_first_not_of(' ', rest.find(';') + 1), rest.size()));
    }
  } else {
    throw InvalidArgument(
        fmt::format("there is no network {}; use cnn: with channels and widths, such as cnn:32,64,128/128,64, lstm: "
                    "with widths, such as lstm:128x128, or network: with its layers",
                    in_quotes(text)));
  }
  return fmt::format("network:{}{}; {}", threads, input.text(), layers);
}

std::string model_spec(const std::string& text, std::size_t features, std::size_t outputs) {
  const std::string several = outputs == 1 ? "" : fmt::format(",outputs={}", outputs);
  if (text == "linear") {
    return outputs == 1 ? fmt::format("linear:features={}", features)
                        : fmt::format("mlp:widths={},activation=identity{}", features, several);
  }
  constexpr std::string_view mlp = "mlp:";
  if (is_network_name(text)) {
    std::string network = named_network(text, Shape::values(features), outputs);
    check_network(network, outputs);
    return network;
  }
  if (!text.starts_with(mlp)) {
    static const std::vector<std::string> known{"linear", "mlp", "network", "cnn", "lstm"};
    const std::string near = suggestion(text.substr(0, text.find(':')), known);
    throw InvalidArgument(
        fmt::format("there is no model {}{} linear, mlp: with the widths of its layers, such as mlp:32,64,32, or "
                    "network: with its layers",
                    in_quotes(text), near.empty() ? "; use" : near + " There are"));
  }
  std::string spec = fmt::format("mlp:widths={}", features);
  for (const std::string_view width : split(std::string_view(text).substr(mlp.size()), ',')) {
    spec += fmt::format("x{}", parse_count(width, fmt::format("a width of {}", in_quotes(text))));
  }
  return spec + several;
}

}  // namespace ignd
