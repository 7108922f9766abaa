#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// The tokens of a byte-pair vocabulary by their bytes and by their rank, which is also their id.
class TokenTable {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t most_ranks = std::uint32_t{1} << 20;
  static constexpr std::size_t longest_token = 256;  // merging takes time by the longest

  // From the text of a rank file: a token in base64, a space and its rank on each line. Every single byte must be a
  // token. Throws FileError with the line; `name` says whose, in quotes if need be.
  TokenTable(std::string_view ranks, std::string_view name);

  // The rank of these bytes, or none.
  std::uint32_t find(std::string_view bytes) const;

  // Empty where no token has this rank.
  std::string_view token(std::uint32_t rank) const;

  // One more than the largest rank.
  std::uint32_t end_of_ranks() const { return static_cast<std::uint32_t>(tokens_.size()); }

  std::size_t longest() const { return longest_; }

 private:
  struct Token {
    std::uint32_t begin = 0, size = 0;  // in bytes_
  };
  // Open addressing. Half of the hash is kept, so that almost all that is compared byte by byte is what was looked for.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t rank = none;
  };

  class Reader;

  std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;  // that it is in, or the free one for it

  std::string bytes_;
  std::vector<Token> tokens_;  // by rank
  std::vector<Slot> slots_;
  std::size_t longest_ = 0;
};

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
