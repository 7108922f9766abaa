#include "data/network_file.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A count of a layer. A network's text has no names for counts, so an omitted one must be written out if a later one is
// given.
struct CountKey {
  std::string name;
  std::optional<std::int64_t> default_value = {};
  bool required = false;
  std::int64_t least = 1;
};

struct OptionKey {
  std::string name;
  std::vector<std::string> words = {};  // empty: the value is a number
};

struct LayerKind {
  std::string name;
  std::vector<CountKey> counts = {};
  std::vector<OptionKey> options = {};
};

const std::vector<LayerKind>& layer_kinds() {
  static const std::vector<LayerKind> kinds{
      {"dense", {{.name = "units", .required = true}}},
      {"relu"},
      {"tanh"},
      {"convolution",
       {{.name = "channels", .required = true},
        {.name = "kernel", .default_value = 3},
        {.name = "stride", .default_value = 1},
        {.name = "padding", .least = 0}}},
      {"max-pool", {{.name = "size", .default_value = 2}, {.name = "stride"}}},
      {"flatten"},
      {"embedding", {{.name = "width", .required = true}}, {{"deviation"}}},
      {"lstm", {{.name = "units", .required = true}}, {{"forget-bias"}, {"recurrent", {"orthogonal", "lecun"}}}},
      {"last"}};
  return kinds;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.push_back(kind.name);
  return names;
}

std::vector<std::string> keys_of(const LayerKind& kind) {
  std::vector<std::string> names{"kind"};
  for (const CountKey& key : kind.counts) names.push_back(key.name);
  for (const OptionKey& key : kind.options) names.push_back(key.name);
  return names;
}

// Reads a file and collects all of its faults.
class NetworkReader {
 public:
  explicit NetworkReader(const toml::table& file) {
    refuse_unknown(file, std::vector<std::string>{"threads", "layer"}, "the file");
    if (const toml::node* threads = file.get("threads")) {
      constexpr std::int64_t most_threads = 1024;
      parts_.push_back("threads " + count_text(*threads, "threads", 1, most_threads));
    }
    const toml::node* layers = file.get("layer");
    if (layers == nullptr || !layers->is_array_of_tables()) {
      fault(layers == nullptr ? static_cast<const toml::node&>(file) : *layers,
            "the layers are missing: each begins with [[layer]]");
      return;
    }
    for (const toml::node& layer : *layers->as_array()) read_layer(*layer.as_table());
  }

  const std::vector<std::string>& faults() const { return faults_; }
  std::string text() const { return "network:" + join(parts_, "; "); }

 private:
  template <class... Arguments>
  void fault(const toml::node& node, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const auto line = std::max<toml::source_index>(node.source().begin.line, 1);
    faults_.push_back(fmt::format("line {}: {}", line, fmt::format(format, std::forward<Arguments>(arguments)...)));
  }

  void refuse_unknown(const toml::table& given, const std::vector<std::string>& known, const std::string& where) {
    for (const auto& [key, node] : given) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      fault(node, "{} has no {}{}", where, in_quotes(name), suggestion(name, known));
    }
  }

  void read_layer(const toml::table& given) {
    const toml::node* word = given.get("kind");
    if (word == nullptr || !word->is_string()) {
      fault(word == nullptr ? given : *word, "a layer needs a kind, one of {}", join(kind_names(), ", "));
      return;
    }
    const std::string name = word->value<std::string>().value();
    const auto& kinds = layer_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& k) { return k.name == name; });
    if (kind == kinds.end()) {
      const std::string near = suggestion(name, kind_names());
      fault(*word, "there is no layer {}{}", in_quotes(name),
            near.empty() ? "; there are " + join(kind_names(), ", ") : near);
      return;
    }
    refuse_unknown(given, keys_of(*kind), "a layer " + name);
    parts_.push_back(name + counts_text(given, *kind) + options_text(given, *kind));
  }

  std::string counts_text(const toml::table& given, const LayerKind& kind) {
    std::string text;
    std::string left_out;
    for (const CountKey& key : kind.counts) {
      const toml::node* node = given.get(key.name);
      if (node != nullptr) {
        constexpr std::int64_t most = 1'000'000'000;
        text += std::exchange(left_out, "") + " " + count_text(*node, key.name, key.least, most);
      } else if (key.required) {
        fault(given, "a layer {} needs its {}", kind.name, key.name);
      } else if (key.default_value) {
        left_out += fmt::format(" {}", *key.default_value);
      }
    }
    return text;
  }

  std::string options_text(const toml::table& given, const LayerKind& kind) {
    std::string text;
    for (const OptionKey& key : kind.options) {
      const toml::node* node = given.get(key.name);
      if (node == nullptr) continue;
      text += fmt::format(" {}={}", key.name, key.words.empty() ? number_text(*node, key) : word_text(*node, key));
    }
    return text;
  }

  std::string count_text(const toml::node& node, const std::string& name, std::int64_t least, std::int64_t most) {
    const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
    if (!value || *value < least || *value > most) {
      fault(node, "{} must be a whole number from {} to {}", name, least, most);
      return "";
    }
    return std::to_string(*value);
  }

  std::string number_text(const toml::node& node, const OptionKey& key) {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) fault(node, "{} must be a number", key.name);
    return format_number(value.value_or(0));
  }

  std::string word_text(const toml::node& node, const OptionKey& key) {
    auto value = node.value<std::string>().value_or("");
    if (node.is_string() && std::find(key.words.begin(), key.words.end(), value) != key.words.end()) return value;
    fault(node, "{} must be one of {}", key.name, join(key.words, ", "));
    return "";
  }

  std::vector<std::string> parts_;
  std::vector<std::string> faults_;
};

}  // namespace

std::string parse_network_file(std::string_view toml) {
  const toml::table parsed = parse_toml(toml);
  const NetworkReader reader(parsed);
  if (!reader.faults().empty()) throw InvalidArgument(list_faults(reader.faults()));
  return reader.text();
}

std::string read_network_file(const std::filesystem::path& path) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const std::string text = read_file(path, most_bytes + 1);
  if (text.size() > most_bytes) {
    throw FileError(fmt::format("{} is larger than {} bytes: it is not a network", quoted_path(path), most_bytes));
  }
  try {
    return parse_network_file(text);
  } catch (const InvalidArgument& fault) {
    throw InvalidArgument(fmt::format("the network {}, {}", quoted_path(path), fault.what()));
  }
}

}  // namespace ignd
