#pragma once

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// "name:key=value,key=value": the notation of losses, rules, transforms, schedules and models. Asking for a key makes
// it known; finish() rejects all others. All faults are reported at once.
class Spec {
 public:
  // `kind` ("loss", "transform", ...) is for messages.
  Spec(std::string_view kind, std::string_view text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

  // The value of a key, or the default. A value outside [low, high] is a fault.
  double number(std::string_view key, double default_value, double low, double high);
  std::uint64_t count(std::string_view key, std::uint64_t default_value, std::uint64_t low, std::uint64_t high);
  std::string word(std::string_view key, std::string_view default_value);
  // A number, or nothing if the value is "auto" or not given.
  std::optional<double> number_or_auto(std::string_view key, double low, double high);

  void add_fault(std::string fault) { faults_.push_back(std::move(fault)); }

  // Throws InvalidArgument with all faults, including unknown keys.
  void finish() const;

  [[noreturn]] void refuse_name(std::span<const std::string> known) const;

 private:
  struct Option {
    std::string key, value;
    bool taken = false;
  };
  const std::string* take(std::string_view key);
  template <class Number, class Parse>
  Number in_range(std::string_view key, const std::string& text, Number default_value, Number low, Number high,
                  Parse parse);

  std::string kind_;
  std::string text_;
  std::string name_;
  std::vector<Option> options_;
  std::vector<std::string> known_keys_;
  std::vector<std::string> faults_;
};

// The spec with an option set, in the place of a value that it may have. It checks nothing.
std::string with_option(std::string_view spec, std::string_view key, std::string_view value);

// The text without blanks around its parts, so that equal specs are equal texts. Call it once, on user input. It checks
// nothing.
std::string tidy_spec(std::string_view text);

}  // namespace ignd
