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
// white space. A const splitter may be used from any number of threads, each with a scratch of its own.
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

  // Where the piece that begins at `begin`, which is before the end, ends. The text must be UTF-8 (utf8.hpp).
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

// Text as token ids, as cl100k_base has them: cut into pieces, each looked up, or merged from its bytes where it is no
// token. A const tokenizer may be used from any number of threads, each with a scratch of its own.
class Tokenizer {
 public:
  // From the text of a rank file (bpe.hpp). So many ids above the ranks belong to special tokens, which no text
  // is encoded to.
  explicit Tokenizer(std::string_view ranks, std::string_view name = "the rank file", std::uint32_t special_ids = 0);

  class Scratch {
    friend class Tokenizer;
    std::string repaired_;
    TextSplitter::Scratch splitter_;
    BytePairMerger merger_;
  };

  // Appends the ids. Any bytes will do: what is not UTF-8 is repaired first (utf8.hpp), and the names of special tokens
  // are text like any other.
  void encode(std::string_view text, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

  // The bytes; of some ids alone they may begin or end within a character. Throws InvalidArgument for an id that is no
  // token of text.
  std::string decode(std::span<const std::uint32_t> ids) const;

  // How many ids there are, those of special tokens included.
  std::uint32_t vocabulary() const { return tokens_.end_of_ranks() + special_ids_; }

 private:
  TokenTable tokens_;
  TextSplitter splitter_;
  std::uint32_t special_ids_;
};

// Of cl100k_base, special tokens included.
inline constexpr std::uint32_t cl100k_vocabulary = 100'277;

// From cl100k_base.tiktoken, wherever it is. Throws FileError.
Tokenizer read_cl100k(const std::filesystem::path& path);

}  // namespace ignd
