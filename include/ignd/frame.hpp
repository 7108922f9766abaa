#pragma once

#include "ignd/api.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// The cells of one column of a table in memory, as a view: derive from this for the arrays that a program has.
class IGND_API FrameColumn {
 public:
  enum class Kind {
    numbers,     // NaN is a missing value
    dates,       // seconds since 1970-01-01 in UTC; NaN is a missing value
    texts,       // as the cells of a file: numbers, dates and missing values among them are recognised
    categories,  // texts that mean nothing but themselves: "NA" and "12" are categories like any other
  };

  virtual ~FrameColumn();

  virtual Kind kind() const = 0;

  // Writes the numbers or dates of rows first, first + 1, ...
  virtual void read(std::size_t first, std::span<double> values) const = 0;

  // A text or a category; none if it is missing. The view must last until the next call.
  virtual std::optional<std::string_view> text(std::size_t row) const = 0;
};

// A table in memory. Training on it gives the same bits as training on a file with these cells.
struct Frame {
  using NamedColumn = std::pair<std::string, std::shared_ptr<const FrameColumn>>;

  std::size_t rows = 0;
  std::vector<NamedColumn> columns = {};
};

// A column of numbers that are in an array, which must outlive it.
template <class T>
class NumberColumn final : public FrameColumn {
 public:
  explicit NumberColumn(std::span<const T> numbers) : numbers_(numbers) {}

  Kind kind() const override { return Kind::numbers; }
  void read(std::size_t first, std::span<double> values) const override {
    const auto numbers = numbers_.subspan(first, values.size());
    std::transform(numbers.begin(), numbers.end(), values.begin(), [](T x) { return static_cast<double>(x); });
  }
  std::optional<std::string_view> text(std::size_t /*row*/) const override { return std::nullopt; }

 private:
  std::span<const T> numbers_;
};

// A column of texts, or of categories.
class TextColumn final : public FrameColumn {
 public:
  explicit TextColumn(std::vector<std::string> texts, Kind kind = Kind::texts)
      : texts_(std::move(texts)), kind_(kind) {}

  Kind kind() const override { return kind_; }
  void read(std::size_t /*first*/, std::span<double> /*values*/) const override {}
  std::optional<std::string_view> text(std::size_t row) const override { return texts_[row]; }

 private:
  std::vector<std::string> texts_;
  Kind kind_;
};

}  // namespace ignd
