#pragma once

#include "data/byte_source.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace ignd::testing {

// A text that comes in pieces, and then ends or breaks.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, std::size_t piece, bool breaks = false)
      : text_(std::move(text)), piece_(piece), breaks_(breaks) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min({into.size(), piece_, text_.size() - given_});
    if (count == 0 && breaks_) throw FileError("the pieces broke off");
    std::copy_n(text_.data() + given_, count, into.data());
    given_ += count;
    return count;
  }
  void stop_waiting() override {}
  const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::size_t piece_;
  bool breaks_;
  std::size_t given_ = 0;
  std::string name_ = "'pieces'";
};

// Everything that is left.
inline std::string read_all(ByteSource& source, std::size_t at_once = 4096) {
  std::string all;
  std::string part(at_once, '\0');
  while (const std::size_t count = source.read(part)) all.append(part, 0, count);
  return all;
}

}  // namespace ignd::testing
