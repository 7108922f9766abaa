#include "base/spec.hpp"

#include <fmt/format.h>

namespace ignd {

Spec::Spec(std::string_view kind, std::string_view text) : kind_(kind), text_(trim(text)) {
  const std::string_view all = text_;
  const auto colon = all.find(':');
  name_ = trim(all.substr(0, colon));
  if (colon == std::string_view::npos) return;
  for (const std::string_view part : split(all.substr(colon + 1), ',')) {
    const std::string_view option = trim(part);
    const auto equals = option.find('=');
    if (equals == std::string_view::npos) {
      add_fault(fmt::format("{} is not of the form key=value", in_quotes(option)));
    } else {
      options_.push_back({std::string(trim(option.substr(0, equals))), std::string(trim(option.substr(equals + 1)))});
    }
  }
}

const std::string* Spec::take(std::string_view key) {
  known_keys_.emplace_back(key);
  const std::string* found = nullptr;
  bool twice = false;
  for (auto& option : options_) {
    if (option.key != key) continue;
    twice = found != nullptr;
    option.taken = true;
    found = &option.value;
  }
  if (twice) add_fault(fmt::format("'{}' is given twice", key));
  return found;
}

template <class Number, class Parse>
Number Spec::in_range(std::string_view key, const std::string& text, Number default_value, Number low, Number high,
                      Parse parse) {
  try {
    const Number value = parse(text, key);
    if (value >= low && value <= high) return value;
    add_fault(fmt::format("{} is {}, but must be between {} and {}", key, value, low, high));
  } catch (const InvalidArgument& fault) {
    add_fault(fault.what());
  }
  return default_value;
}

double Spec::number(std::string_view key, double default_value, double low, double high) {
  const std::string* text = take(key);
  return text == nullptr ? default_value : in_range(key, *text, default_value, low, high, parse_number);
}

std::uint64_t Spec::count(std::string_view key, std::uint64_t default_value, std::uint64_t low, std::uint64_t high) {
  const std::string* text = take(key);
  return text == nullptr ? default_value : in_range(key, *text, default_value, low, high, parse_count);
}

std::string Spec::word(std::string_view key, std::string_view default_value) {
  const std::string* text = take(key);
  return text == nullptr ? std::string(default_value) : *text;
}

std::optional<double> Spec::number_or_auto(std::string_view key, double low, double high) {
  const std::string* text = take(key);
  if (text == nullptr || *text == "auto") return std::nullopt;
  return in_range(key, *text, low, low, high, parse_number);
}

std::string with_option(std::string_view spec, std::string_view key, std::string_view value) {
  const auto colon = spec.find(':');
  std::vector<std::string> options;
  if (colon != std::string_view::npos) {
    for (const std::string_view option : split(spec.substr(colon + 1), ',')) {
      if (trim(option.substr(0, option.find('='))) != key) options.emplace_back(option);
    }
  }
  options.push_back(fmt::format("{}={}", key, value));
  return fmt::format("{}:{}", spec.substr(0, colon), join(options, ","));
}

std::string tidy_spec(std::string_view text) {
  std::string tidy;
  std::string_view rest = trim(text);
  bool in_options = false;
  while (!rest.empty()) {
    const auto end = rest.find_first_of(in_options ? ",=" : ":");
    tidy += trim(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    tidy += rest[end];
    in_options = true;
    rest = rest.substr(end + 1);
  }
  return tidy;
}

void Spec::finish() const {
  std::vector<std::string> faults = faults_;
  for (const auto& option : options_) {
    if (option.taken) continue;
    faults.push_back(fmt::format("it has no option {}{}", in_quotes(option.key), suggestion(option.key, known_keys_)));
  }
  if (!faults.empty()) throw InvalidArgument(fmt::format("{} {}: {}", kind_, in_quotes(text_), list_faults(faults)));
}

void Spec::refuse_name(std::span<const std::string> known) const {
  const std::string offer = suggestion(name_, known);
  throw InvalidArgument(fmt::format("there is no {} {}{} Known: {}.", kind_, in_quotes(name_),
                                    offer.empty() ? "." : offer, join(known, ", ")));
}

}  // namespace ignd
