#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace ignd {

// The vocabulary of a byte-pair encoding: looks tokens up by bytes and by rank, which is also the token's id.
class TokenTable {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t most_ranks = std::uint32_t{1} << 20;
  static constexpr std::size_t longest_token = 256;  // bounds the time that merging takes

  // From the text of a rank file, whose lines are a token in base64, a space and the rank. Every single byte must be a
  // token. Throws FileError with `name` and the line.
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
  // Open addressing. A slot keeps half of the hash, so that bytes are compared almost only where they match.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t rank = none;
  };

  class Reader;

  std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;  // the slot it is in, or the free one for it

  std::string bytes_;
  std::vector<Token> tokens_;  // by rank
  std::vector<Slot> slots_;
  std::size_t longest_ = 0;
};

// Byte-pair encoding: merges the neighbours whose joint token has the lowest rank, the first of several, until no pair
// is a token. Takes n log n for n bytes; reuses its memory for the next piece.
class BytePairMerger {
 public:
  // Appends the ids of the remaining parts. Merging need not lead to the token that equals the whole piece.
  void merge(const TokenTable& tokens, std::string_view piece, std::vector<std::uint32_t>& ids);

 private:
  // Indexed by the byte at which it begins.
  struct Part {
    std::size_t before, behind;  // where its neighbours begin
    std::uint32_t rank;          // its own
    std::uint32_t joined;        // rank of the pair with the next part, or none; none once merged into another
  };

  void start(const TokenTable& tokens, std::string_view piece);
  void join(const TokenTable& tokens, std::string_view piece, std::size_t at);
  void pair_up(const TokenTable& tokens, std::string_view piece, std::size_t at);

  std::vector<Part> parts_;
  std::vector<std::uint64_t> queue_;  // a min-heap of rank and place; may hold pairs that no longer exist
};

// Cuts text into the pieces of cl100k_base: words with the character before them, up to three digits, punctuation,
// white space. Threads may share a const splitter if each has its own scratch buffer.
class TextSplitter {
 public:
  TextSplitter();

  class Scratch {
   public:
    Scratch();

   private:
    friend class TextSplitter;
    struct Free {
      void operator()(pcre2_real_match_data_8* data) const;
    };
    std::unique_ptr<pcre2_real_match_data_8, Free> match_;
  };

  // Returns the end of the piece that begins at `begin`, which must be before the end of the text. The text must be
  // UTF-8 (base/text.hpp).
  std::size_t end_of_piece(std::string_view text, std::size_t begin, Scratch& scratch) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  struct FreeContext {
    void operator()(pcre2_real_match_context_8* context) const;
  };

  std::size_t match(std::string_view text, std::size_t begin, Scratch& scratch) const;

  std::unique_ptr<pcre2_real_code_8, FreeCode> pattern_;
  std::unique_ptr<pcre2_real_match_context_8, FreeContext> context_;
};

// Turns text into the token ids of cl100k_base: cuts it into pieces and looks each up, or merges it from its bytes if
// it is not a token. Threads may share a const tokenizer if each has its own scratch buffer.
class Tokenizer {
 public:
  // From the text of a rank file. `special_ids` ids above the ranks belong to special tokens, which encode() never
  // produces.
  explicit Tokenizer(std::string_view ranks, std::string_view name = "the rank file", std::uint32_t special_ids = 0);

  class Scratch {
    friend class Tokenizer;
    std::string repaired_;
    TextSplitter::Scratch splitter_;
    BytePairMerger merger_;
  };

  // Appends the ids. Accepts any bytes: repairs what is not UTF-8 first (base/text.hpp), and treats the names of
  // special tokens as ordinary text.
  void encode(std::string_view text, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

  // Returns the bytes, which may begin or end within a character. Throws InvalidArgument for an id that is not a text
  // token.
  std::string decode(std::span<const std::uint32_t> ids) const;

  // The number of ids, including special tokens.
  std::uint32_t vocabulary() const { return tokens_.end_of_ranks() + special_ids_; }

 private:
  TokenTable tokens_;
  TextSplitter splitter_;
  std::uint32_t special_ids_;
};

// Of cl100k_base, including special tokens.
inline constexpr std::uint32_t cl100k_vocabulary = 100'277;

// Reads cl100k_base.tiktoken. Throws FileError.
Tokenizer read_cl100k(const std::filesystem::path& path);

}  // namespace ignd
