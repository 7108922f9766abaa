#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ignd::cli {

// One JSON object on one line of the standard output, for programs that read along.
class JsonLine {
 public:
  explicit JsonLine(std::string_view event);
  ~JsonLine();
  JsonLine(JsonLine&&) noexcept;
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  JsonLine& operator=(JsonLine&&) = delete;

  // A dot in the name goes one object deeper. What is not a finite number, or not there, is null.
  JsonLine& set(std::string_view name, double value);
  JsonLine& set(std::string_view name, std::optional<double> value);
  JsonLine& set(std::string_view name, std::uint64_t value);
  JsonLine& set(std::string_view name, const std::string& value);
  JsonLine& set(std::string_view name, const char* value);
  JsonLine& set(std::string_view name, bool value);
  JsonLine& set(std::string_view name, std::span<const double> values);
  JsonLine& set(std::string_view name, std::span<const std::string> values);
  // An array of rows of `width` numbers each.
  JsonLine& set_rows(std::string_view name, std::span<const double> values, std::size_t width);

  std::string text() const;  // without a line end
  void print() const;

 private:
  struct Object;
  std::unique_ptr<Object> object_;
};

}  // namespace ignd::cli
