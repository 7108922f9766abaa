#pragma once

#include "data/bpe.hpp"

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
  // UTF-8 (utf8.hpp).
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
  // From the text of a rank file (bpe.hpp). `special_ids` ids above the ranks belong to special tokens, which encode()
  // never produces.
  explicit Tokenizer(std::string_view ranks, std::string_view name = "the rank file", std::uint32_t special_ids = 0);

  class Scratch {
    friend class Tokenizer;
    std::string repaired_;
    TextSplitter::Scratch splitter_;
    BytePairMerger merger_;
  };

  // Appends the ids. Accepts any bytes: repairs what is not UTF-8 first (utf8.hpp), and treats the names of special
  // tokens as ordinary text.
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
