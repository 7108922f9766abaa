#pragma once

#include "data/token_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ignd {

// Byte-pair encoding: of all neighbours that are a token together, those of the lowest rank become one, the first where
// there are several, until none are left. Takes n log n for n bytes; what it allocates is kept for the next piece.
class BytePairMerger {
 public:
  // Appends the ids of what is left. A piece that is a token itself need not become it.
  void merge(const TokenTable& tokens, std::string_view piece, std::vector<std::uint32_t>& ids);

 private:
  // By the byte at which it begins.
  struct Part {
    std::size_t before, behind;  // where its neighbours begin
    std::uint32_t rank;          // its own
    std::uint32_t joined;        // with the part behind it, or none; none too once it is part of another
  };

  void start(const TokenTable& tokens, std::string_view piece);
  void join(const TokenTable& tokens, std::string_view piece, std::size_t at);
  void pair_up(const TokenTable& tokens, std::string_view piece, std::size_t at);

  std::vector<Part> parts_;
  std::vector<std::uint64_t> queue_;  // a heap, lowest first: rank, then place; also of pairs that are gone
};

}  // namespace ignd
