#include "models/network_text.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "models/dense_layers.hpp"
#include "models/image_layers.hpp"
#include "models/sequence_layers.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// A fault whose message already names the layer.
struct LayerFault : InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

constexpr std::size_t most_threads = 1024;
constexpr std::string_view white_space = " \t\r\n";

// One of the parts of a network's text. Counts and options are taken one by one; what is left over is refused.
class Item {
 public:
  Item(std::string_view text, std::size_t number) : text_(trim(text, white_space)), number_(number) {
    std::string_view left = text_;
    name_ = next_word(left);
    if (name_.empty()) refuse("it has no name");
    while (!left.empty()) {
      const std::string word = next_word(left);
      const auto equals = word.find('=');
      if (equals != std::string_view::npos) {
        options_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
      } else if (!options_.empty()) {
        refuse("counts come before options");
      } else {
        counts_.push_back(count_in(word));
      }
    }
  }

  const std::string& name() const { return name_; }

  // The next count, which is required unless it has a default.
  std::size_t count(const char* what, std::optional<std::size_t> default_value = {}, std::size_t least = 1) {
    if (next_ == counts_.size()) {
      if (!default_value) refuse(fmt::format("it lacks its {}", what));
      return *default_value;
    }
    const std::size_t value = counts_[next_++];
    if (value < least) refuse(fmt::format("its {} is {}, but must be at least {}", what, value, least));
    return value;
  }

  double number(std::string_view key, double default_value, double low, double high) {
    const auto text = take(key);
    if (!text) return default_value;
    const double value = guarded([&] { return parse_number(*text, key); });
    if (!(value >= low && value <= high)) {
      refuse(fmt::format("its {} is {}, but must be between {} and {}", key, *text, low, high));
    }
    return value;
  }

  // Which of the words is given; the first is the default.
  std::size_t choice(std::string_view key, std::span<const std::string> words) {
    const auto text = take(key);
    if (!text) return 0;
    const auto found = std::find(words.begin(), words.end(), *text);
    if (found == words.end()) {
      refuse(fmt::format("its {} is {}, but must be {}", key, in_quotes(*text), join(words, " or ")));
    }
    return static_cast<std::size_t>(found - words.begin());
  }

  void finish() const {
    if (next_ < counts_.size()) refuse(fmt::format("it has {} counts, but takes {}", counts_.size(), next_));
    if (!options_.empty()) refuse(fmt::format("it has no option {}", in_quotes(options_[0].first)));
  }

  [[noreturn]] void refuse(const std::string& fault) const {
    const std::string what = number_ == 0 ? "the input" : fmt::format("layer {}", number_);
    throw LayerFault(fmt::format("{} of the network, {}: {}", what, in_quotes(text_), fault));
  }

  // Runs `make` and names this item in the message of what it throws.
  template <class Make>
  auto guarded(Make make) const -> decltype(make()) {
    try {
      return make();
    } catch (const LayerFault&) {
      throw;
    } catch (const InvalidArgument& fault) {
      refuse(fault.what());
    }
  }

 private:
  static std::string next_word(std::string_view& left) {
    left = trim(left, white_space);
    const auto end = std::min(left.find_first_of(white_space), left.size());
    std::string word(left.substr(0, end));
    left.remove_prefix(end);
    left = trim(left, white_space);
    return word;
  }

  std::size_t count_in(std::string_view word) const {
    const std::uint64_t value = guarded([&] { return parse_count(word, "a count"); });
    if (value > most_parameters) refuse(fmt::format("{} is too large", value));
    return value;
  }

  std::optional<std::string> take(std::string_view key) {
    const auto found = std::find_if(options_.begin(), options_.end(), [&](const auto& o) { return o.first == key; });
    if (found == options_.end()) return {};
    std::string value = std::move(found->second);
    options_.erase(found);
    return value;
  }

  std::string text_;
  std::size_t number_;
  std::string name_;
  std::vector<std::size_t> counts_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::string, std::string>> options_;
};

std::vector<Item> split_items(std::string_view text) {
  std::vector<Item> items;
  for (const std::string_view part : split(text, ';')) items.emplace_back(part, items.size());
  return items;
}

Shape parse_input(Item& item) {
  const auto make = [&]() -> Shape {
    if (item.name() == "values") return Shape::values(item.count("number of values"));
    if (item.name() == "tokens") {
      const std::size_t steps = item.count("greatest number of steps");
      return Shape::tokens(steps, item.count("size of the vocabulary"));
    }
    if (item.name() == "image") {
      const std::size_t channels = item.count("number of channels");
      const std::size_t height = item.count("height");
      return Shape::image(channels, height, item.count("width"));
    }
    item.refuse("a network begins with values, image or tokens");
  };
  const Shape shape = make();
  item.finish();
  return shape;
}

// The image layer that an item describes, if it is one.
std::optional<ImageLayer> parse_image_layer(Item& item) {
  if (item.name() == "relu") return Rectifier{};
  if (item.name() == "tanh") return HyperbolicTangent{};
  if (item.name() == "max-pool") {
    const std::size_t size = item.count("size", 2);
    return MaxPooling{size, item.count("stride", size)};
  }
  if (item.name() != "convolution") return {};
  Convolution layer;
  layer.channels = item.count("number of channels");
  layer.kernel = item.count("kernel", layer.kernel);
  layer.stride = item.count("stride", layer.stride);
  layer.padding = item.count("padding", (layer.kernel - 1) / 2, 0);
  return layer;
}

void require(const Item& item, const Shape& shape, Shape::Kind kind, const char* wanted) {
  if (shape.kind == kind) return;
  const bool image = shape.kind == Shape::Kind::image, sequence = shape.kind == Shape::Kind::sequence;
  const bool values = kind == Shape::Kind::values;
  item.refuse(fmt::format("it takes {}, but gets {}{}", wanted, shape.text(),
                          values && image      ? "; put flatten before it"
                          : values && sequence ? "; put last before it"
                                               : ""));
}

const std::vector<std::string>& layer_names() {
  static const std::vector<std::string> names{"dense",    "relu",      "tanh", "flatten", "convolution",
                                              "max-pool", "embedding", "lstm", "last"};
  return names;
}

template <class T>
std::unique_ptr<Layer<T>> parse_layer(Item& item, const Shape& shape, bool zeros_stop) {
  const std::string& name = item.name();
  if (name == "dense") {
    require(item, shape, Shape::Kind::values, "values");
    return make_dense_layer<T>(shape.count(), item.count("number of units"), zeros_stop);
  }
  if (name == "flatten") {
    require(item, shape, Shape::Kind::image, "an image");
    return make_flatten_layer<T>(shape);
  }
  if (name == "relu" || name == "tanh") {
    if (shape.kind == Shape::Kind::tokens) item.refuse("it takes numbers, but gets " + shape.text());
    return make_elementwise_layer<T>(shape, name == "relu" ? Elementwise::relu : Elementwise::tanh);
  }
  if (name == "embedding") {
    require(item, shape, Shape::Kind::tokens, "tokens");
    Embedding options{.width = item.count("width")};
    options.deviation = item.number("deviation", options.deviation, 0, 1e6);
    return make_embedding_layer<T>(shape, options);
  }
  if (name == "lstm") {
    require(item, shape, Shape::Kind::sequence, "a sequence");
    Lstm options{.units = item.count("number of units")};
    options.forget_bias = item.number("forget-bias", options.forget_bias, -100, 100);
    options.orthogonal = item.choice("recurrent", std::vector<std::string>{"orthogonal", "lecun"}) == 0;
    return make_lstm_layer<T>(shape, options);
  }
  if (name == "last") {
    require(item, shape, Shape::Kind::sequence, "a sequence");
    return make_last_layer<T>(shape);
  }
  if (name == "convolution" || name == "max-pool") require(item, shape, Shape::Kind::image, "an image");
  item.refuse(fmt::format("there is no such layer{}", suggestion(name, layer_names())));
}

// Refuses sizes that would overflow or not fit, before anything is allocated.
void check_size(const Item& item, const Shape& shape, std::size_t weights) {
  if (shape.count() > most_parameters) item.refuse(fmt::format("it gives {}: that is too large", shape.text()));
  if (weights > most_parameters)
    item.refuse(fmt::format("it has {} weights; at most {} can be", weights, most_parameters));
}

}  // namespace

template <class T>
NetworkLayers<T> parse_network(std::string_view text) {
  std::vector<Item> items = split_items(text);
  NetworkLayers<T> network;
  if (items[0].name() == "threads") {
    network.threads = static_cast<unsigned>(std::min<std::size_t>(items[0].count("number"), most_threads));
    items[0].finish();
    items.erase(items.begin());
    if (items.empty()) throw InvalidArgument("the network has no input");
  }
  network.input = parse_input(items[0]);
  check_size(items[0], network.input, 0);
  Shape shape = network.input;
  bool zeros_stop = false;
  for (std::size_t i = 1; i < items.size();) {
    std::unique_ptr<Layer<T>> layer;
    const std::size_t first = i;
    if (shape.kind == Shape::Kind::image && items[i].name() != "flatten") {
      // Consecutive image layers become one, so that oneDNN can keep its own layouts between them.
      std::vector<ImageLayer> group;
      for (; i < items.size(); ++i) {
        const auto image_layer = parse_image_layer(items[i]);
        if (!image_layer) break;
        items[i].finish();
        if (items[i].name() == "relu") zeros_stop = true;
        if (items[i].name() == "convolution" || items[i].name() == "tanh") zeros_stop = false;
        group.push_back(*image_layer);
      }
      if (group.empty()) parse_layer<T>(items[i], shape, false);  // says what is wrong with it
      layer = items[first].guarded([&] { return make_image_layers<T>(shape, group, network.threads); });
    } else {
      Item& item = items[i++];
      layer = item.guarded([&] { return parse_layer<T>(item, shape, zeros_stop); });
      item.finish();
      zeros_stop = item.name() == "relu" || (item.name() == "flatten" && zeros_stop);
    }
    shape = layer->output();
    check_size(items[i - 1], shape, layer->weights());
    network.layers.push_back(std::move(layer));
  }
  // Several numbers that do not come from a dense layer are more likely a forgotten layer than outputs.
  const bool ends = shape == Shape::values(1) || items.back().name() == "dense";
  if (!ends || network.layers.empty()) {
    throw InvalidArgument(fmt::format(
        "the network gives {}, but must end with its outputs: dense 1, or dense with one unit for each", shape.text()));
  }
  return network;
}

template NetworkLayers<float> parse_network(std::string_view);
template NetworkLayers<double> parse_network(std::string_view);

}  // namespace ignd
