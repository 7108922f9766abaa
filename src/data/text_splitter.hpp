#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

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

}  // namespace ignd
