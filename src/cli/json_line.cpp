#include "cli/json_line.hpp"

#include "cli/output.hpp"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace ignd::cli {
namespace {

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json numbers(std::span<const double> values) {
  auto array = nlohmann::ordered_json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

}  // namespace

struct JsonLine::Object {  // NOLINT(bugprone-exception-escape): what its destructor calls throws nothing
  nlohmann::ordered_json json;

  nlohmann::ordered_json& at(std::string_view name) {
    nlohmann::ordered_json* place = &json;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
      place = &(*place)[std::string(name.substr(0, dot))];
      name.remove_prefix(dot + 1);
    }
    return (*place)[std::string(name)];
  }
};

JsonLine::JsonLine(std::string_view event) : object_(std::make_unique<Object>()) {
  object_->json["event"] = std::string(event);
}
JsonLine::~JsonLine() = default;
JsonLine::JsonLine(JsonLine&&) noexcept = default;

JsonLine& JsonLine::set(std::string_view name, double value) {
  object_->at(name) = number(value);
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::optional<double> value) {
  return set(name, value.value_or(std::nan("")));
}

JsonLine& JsonLine::set(std::string_view name, std::uint64_t value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, const std::string& value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, const char* value) { return set(name, std::string(value)); }

JsonLine& JsonLine::set(std::string_view name, bool value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::span<const double> values) {
  object_->at(name) = numbers(values);
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::span<const std::string> values) {
  object_->at(name) = std::vector<std::string>(values.begin(), values.end());
  return *this;
}

JsonLine& JsonLine::set_rows(std::string_view name, std::span<const double> values, std::size_t width) {
  auto& rows = object_->at(name) = nlohmann::ordered_json::array();
  for (; !values.empty(); values = values.subspan(width)) rows.push_back(numbers(values.first(width)));
  return *this;
}

std::string JsonLine::text() const {
  // Bytes that are not UTF-8, of a column's name perhaps, are replaced: a reader of JSON would stop at them.
  return object_->json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void JsonLine::print() const {
  print_data(text() + "\n");
  std::fflush(stdout);
}

}  // namespace ignd::cli
