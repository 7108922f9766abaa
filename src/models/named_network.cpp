#include "models/named_network.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace ignd {
namespace {

// Counts with a separator between them; `layer` says what is made of each.
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

std::string cnn_layers(std::string_view list, std::string_view whole) {
  const auto slash = list.find('/');
  std::string layers = for_each_count(list.substr(0, slash), ',', whole, [](std::uint64_t channels) {
    return fmt::format("convolution {}; relu; max-pool; ", channels);
  });
  layers += "flatten; ";
  if (slash != std::string_view::npos) {
    layers += for_each_count(list.substr(slash + 1), ',', whole,
                             [](std::uint64_t width) { return fmt::format("dense {}; relu; ", width); });
  }
  return layers + "dense 1";
}

std::string lstm_layers(std::string_view list, std::string_view whole) {
  const auto times = list.find('x');
  if (times == std::string_view::npos) {
    throw InvalidArgument(
        fmt::format("{} needs the width of the embedding and the number of units, such as "
                    "lstm:128x128",
                    in_quotes(whole)));
  }
  const std::string what = fmt::format("a width of {}", in_quotes(whole));
  return fmt::format("embedding {}; lstm {}; last; dense 1", parse_count(list.substr(0, times), what),
                     parse_count(list.substr(times + 1), what));
}

}  // namespace

bool is_network_name(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return name == "cnn" || name == "lstm" || name == "network";
}

std::string named_network(std::string_view text, const Shape& input) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  std::string threads;
  std::string layers;
  if (name == "cnn") {
    if (input.kind != Shape::Kind::image) throw InvalidArgument("a cnn reads images, but the samples are none");
    layers = cnn_layers(rest, text);
  } else if (name == "lstm") {
    if (input.kind != Shape::Kind::tokens) throw InvalidArgument("an lstm reads texts, but the samples are none");
    layers = lstm_layers(rest, text);
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

}  // namespace ignd
