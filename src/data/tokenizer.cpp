#include "data/tokenizer.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "ignd/error.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace ignd {
namespace {

// The public pattern with \s written out: PCRE2 still counts U+180E as white space, which Unicode no longer does.
std::string pattern() {
  const std::string space =
      R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^)" + space +
         R"(\p{L}\p{N}]+[\r\n]*|[)" + space + R"(]*[\r\n]+|[)" + space + R"(]+(?![^)" + space + R"(])|[)" + space +
         "]+";
}

enum class ByteKind : unsigned char { letter, digit, line_end, space, tab, other, beyond };  // tab: other white space

constexpr ByteKind kind_of_byte(unsigned byte) {
  if (byte >= 0x80) return ByteKind::beyond;
  if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')) return ByteKind::letter;
  if (byte >= '0' && byte <= '9') return ByteKind::digit;
  if (byte == '\n' || byte == '\r') return ByteKind::line_end;
  if (byte == ' ') return ByteKind::space;
  if (byte == '\t' || byte == '\v' || byte == '\f') return ByteKind::tab;
  return ByteKind::other;
}

constexpr std::array<ByteKind, 256> kinds = [] {
  std::array<ByteKind, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) table[byte] = kind_of_byte(byte);
  return table;
}();

// The pattern for ASCII. Gives up if a piece depends on any other character.
class AsciiPiece {
 public:
  static constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

  AsciiPiece(std::string_view text, std::size_t begin) : text_(text), begin_(begin) {}

  // Where it ends, or unknown.
  std::size_t end() const {
    const ByteKind first = kind(begin_);
    switch (first) {
      case ByteKind::letter:
        return end_of_word(begin_ + 1);
      case ByteKind::digit:
        return end_of_digits();
      case ByteKind::beyond:
        return unknown;
      case ByteKind::line_end:
        return end_of_space();
      case ByteKind::space:
      case ByteKind::tab:
      case ByteKind::other:
        break;
    }
    if (begin_ + 1 < text_.size()) {
      const ByteKind second = kind(begin_ + 1);
      if (second == ByteKind::beyond) return unknown;
      if (first == ByteKind::other && text_[begin_] == '\'') {
        if (const std::size_t size = contraction(); size != 0) return begin_ + size;
      }
      if (second == ByteKind::letter) return end_of_word(begin_ + 2);
      if (first == ByteKind::space && second == ByteKind::other) return end_of_punctuation(begin_ + 2);
    }
    return first == ByteKind::other ? end_of_punctuation(begin_ + 1) : end_of_space();
  }

 private:
  ByteKind kind(std::size_t at) const { return kinds[static_cast<unsigned char>(text_[at])]; }

  bool is_beyond(std::size_t at) const { return at < text_.size() && kind(at) == ByteKind::beyond; }

  std::size_t end_of_word(std::size_t at) const {
    while (at < text_.size() && kind(at) == ByteKind::letter) ++at;
    return is_beyond(at) ? unknown : at;
  }

  std::size_t end_of_digits() const {
    std::size_t at = begin_ + 1;
    while (at < text_.size() && at < begin_ + 3 && kind(at) == ByteKind::digit) ++at;
    return at < begin_ + 3 && is_beyond(at) ? unknown : at;
  }

  std::size_t end_of_punctuation(std::size_t at) const {
    while (at < text_.size() && kind(at) == ByteKind::other) ++at;
    if (is_beyond(at)) return unknown;
    while (at < text_.size() && kind(at) == ByteKind::line_end) ++at;
    return at;
  }

  // Up to the last line end. Without one, a last space among several belongs to the next piece.
  std::size_t end_of_space() const {
    std::size_t end_of_lines = begin_;
    std::size_t at = begin_;
    for (; at < text_.size(); ++at) {
      const ByteKind here = kind(at);
      if (here == ByteKind::line_end) {
        end_of_lines = at + 1;
      } else if (here != ByteKind::space && here != ByteKind::tab) {
        break;
      }
    }
    if (is_beyond(at)) return unknown;
    if (end_of_lines > begin_) return end_of_lines;
    return at < text_.size() && at - begin_ > 1 ? at - 1 : at;
  }

  // The length of 's, 't, 're, 've, 'm, 'll or 'd in either case; 0 for anything else.
  std::size_t contraction() const {
    const auto lower = [&](std::size_t at) { return at < text_.size() ? text_[at] | 0x20 : 0; };
    const int third = lower(begin_ + 2);
    switch (lower(begin_ + 1)) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return 2;
      case 'r':
      case 'v':
        return third == 'e' ? 3 : 0;
      case 'l':
        return third == 'l' ? 3 : 0;
      default:
        return 0;
    }
  }

  std::string_view text_;
  std::size_t begin_;
};

}  // namespace

TextSplitter::Scratch::Scratch() : match_(pcre2_match_data_create(1, nullptr)) {
  if (!match_) throw std::bad_alloc();
}

void TextSplitter::Scratch::Free::operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
void TextSplitter::FreeCode::operator()(pcre2_code* code) const { pcre2_code_free(code); }
void TextSplitter::FreeContext::operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }

TextSplitter::TextSplitter() : context_(pcre2_match_context_create(nullptr)) {
  const std::string text = pattern();
  int fault = 0;
  PCRE2_SIZE where = 0;
  pattern_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &fault, &where, nullptr));
  if (!pattern_ || !context_) throw std::bad_alloc();
  // May fail: matching is then slower, but the same.
  pcre2_jit_compile(pattern_.get(), PCRE2_JIT_COMPLETE);
  // No limits: the time is linear in the length of a piece.
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  pcre2_set_match_limit(context_.get(), none);
  pcre2_set_depth_limit(context_.get(), none);
  pcre2_set_heap_limit(context_.get(), none);
}

std::size_t TextSplitter::end_of_piece(std::string_view text, std::size_t begin, Scratch& scratch) const {
  const std::size_t end = AsciiPiece(text, begin).end();
  return end != AsciiPiece::unknown ? end : match(text, begin, scratch);
}

std::size_t TextSplitter::match(std::string_view text, std::size_t begin, Scratch& scratch) const {
  const auto attempt = [&](std::uint32_t options) {
    return pcre2_match(pattern_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                       PCRE2_NO_UTF_CHECK | options, scratch.match_.get(), context_.get());
  };
  int code = attempt(0);
  // The JIT's stack is small; the interpreter uses the heap.
  if (code == PCRE2_ERROR_JIT_STACKLIMIT) code = attempt(PCRE2_NO_JIT);
  if (code == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  if (code < 0) throw std::logic_error("the pattern of the tokenizer does not match everything");
  return pcre2_get_ovector_pointer(scratch.match_.get())[1];
}

Tokenizer::Tokenizer(std::string_view ranks, std::string_view name, std::uint32_t special_ids)
    : tokens_(ranks, name), special_ids_(special_ids) {}

void Tokenizer::encode(std::string_view text, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
  text = repaired_utf8(text, scratch.repaired_);
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = splitter_.end_of_piece(text, begin, scratch.splitter_);
    const std::string_view piece = text.substr(begin, end - begin);
    const std::uint32_t id = tokens_.find(piece);
    if (id != TokenTable::none) {
      ids.push_back(id);
    } else {
      scratch.merger_.merge(tokens_, piece, ids);
    }
  }
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids) const {
  std::string bytes;
  for (const std::uint32_t id : ids) {
    const std::string_view token = tokens_.token(id);
    if (token.empty()) throw InvalidArgument(fmt::format("{} is not the id of a text token", id));
    bytes += token;
  }
  return bytes;
}

Tokenizer read_cl100k(const std::filesystem::path& path) {
  // <|endoftext|> is 100257, <|endofprompt|> 100276; the ranks end with 100255.
  constexpr std::uint32_t special_ids = 21;
  return Tokenizer(read_file(path), quoted_path(path), special_ids);
}

}  // namespace ignd
