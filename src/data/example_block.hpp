#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// Examples with few active features each, as the readers of sparse files give them, one behind the other in a few
// arrays that are used again for the next block.
struct ExampleBlock {
  std::vector<double> target;
  std::vector<double> weight;       // importance
  std::vector<std::uint64_t> line;  // where in the file the example is, from 1
  std::vector<std::size_t> end;     // where its features end in the two arrays below
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::vector<std::string> kept;  // fields that are passed on as they stand, as many for each example

  std::size_t size() const { return end.size(); }
  std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : end[i - 1]; }
  std::span<const std::uint32_t> indices(std::size_t i) const {
    return std::span(index).subspan(begin_of(i), end[i] - begin_of(i));
  }
  std::span<const float> values(std::size_t i) const {
    return std::span(value).subspan(begin_of(i), end[i] - begin_of(i));
  }

  // Ends the example whose features were just appended.
  void finish(double y, double importance, std::uint64_t at_line) {
    target.push_back(y);
    weight.push_back(importance);
    line.push_back(at_line);
    end.push_back(index.size());
  }

  // Forgets features that were appended since.
  void drop_unfinished() {
    index.resize(begin_of(size()));
    value.resize(begin_of(size()));
  }

  void clear() {
    target.clear();
    weight.clear();
    line.clear();
    end.clear();
    index.clear();
    value.clear();
    kept.clear();
  }
};

}  // namespace ignd
