#include "data/tokenizer.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <xxhash.h>

namespace ignd {
namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned char no_digit = 64;

constexpr std::array<unsigned char, 256> digit_values = [] {
  std::array<unsigned char, 256> values{};
  values.fill(no_digit);
  for (unsigned char i = 0; i < no_digit; ++i) values[static_cast<unsigned char>(base64_digits[i])] = i;
  return values;
}();

// Appends the decoded bytes; false if the text is not canonical base64.
bool append_base64(std::string_view text, std::string& bytes) {
  if (text.size() % 4 != 0) return false;
  const std::size_t size = text.size();
  while (text.ends_with('=') && size - text.size() < 2) text.remove_suffix(1);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const unsigned char value = digit_values[static_cast<unsigned char>(c)];
    if (value == no_digit) return false;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return (bits & ((1U << count) - 1)) == 0;
}

std::uint64_t token_hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t upper_half(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

class TokenTable::Reader {
 public:
  Reader(TokenTable& table, std::string_view name) : table_(table), name_(name) {}

  void read(std::string_view ranks) {
    // At most half full.
    table_.slots_.resize(std::bit_ceil(2 * static_cast<std::size_t>(std::ranges::count(ranks, '\n') + 1)));
    while (!ranks.empty()) {
      ++line_;
      const std::size_t end = std::min(ranks.find('\n'), ranks.size());
      read_line(ranks.substr(0, end));
      ranks.remove_prefix(std::min(end + 1, ranks.size()));
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (table_.find({&c, 1}) == none) {
        throw FileError(fmt::format("{} has no token for the byte 0x{:02x}; download it again", name_, byte));
      }
    }
  }

 private:
  void read_line(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) fail("there is no space between a token and its rank");
    const Token token = read_token(line.substr(0, space));
    const std::uint32_t rank = read_rank(line.substr(space + 1));
    if (rank >= table_.tokens_.size()) table_.tokens_.resize(rank + std::size_t{1});
    if (table_.tokens_[rank].size != 0) fail(fmt::format("the rank {} occurs on an earlier line too", rank));
    const std::string_view bytes(table_.bytes_.data() + token.begin, token.size);
    const std::uint64_t hash = token_hash(bytes);
    Slot& slot = table_.slots_[table_.slot_of(bytes, hash)];
    if (slot.rank != none) fail("the token occurs on an earlier line too");
    slot = {upper_half(hash), rank};
    table_.tokens_[rank] = token;
    table_.longest_ = std::max<std::size_t>(table_.longest_, token.size);
  }

  Token read_token(std::string_view text) {
    const std::size_t begin = table_.bytes_.size();
    if (text.empty()) fail("the token is empty");
    if (text.size() > (longest_token + 2) / 3 * 4)
      fail(fmt::format("the token is longer than {} bytes", longest_token));
    if (!append_base64(text, table_.bytes_)) fail(fmt::format("{} is not base64", in_quotes(text)));
    const std::size_t size = table_.bytes_.size() - begin;
    if (size > longest_token) fail(fmt::format("the token is longer than {} bytes", longest_token));
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size)};
  }

  std::uint32_t read_rank(std::string_view text) const {
    std::uint32_t rank = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (fault != std::errc() || end != text.data() + text.size() || rank >= most_ranks) {
      fail(fmt::format("the rank {} is not a whole number below {}", in_quotes(text), most_ranks));
    }
    return rank;
  }

  [[noreturn]] void fail(const std::string& fault) const {
    throw FileError(fmt::format("{}, line {}: {}; download the file again", name_, line_, fault));
  }

  TokenTable& table_;
  std::string_view name_;
  std::size_t line_ = 0;
};

TokenTable::TokenTable(std::string_view ranks, std::string_view name) { Reader(*this, name).read(ranks); }

std::size_t TokenTable::slot_of(std::string_view bytes, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.rank == none || (slot.hash == upper_half(hash) && token(slot.rank) == bytes)) return at;
  }
}

std::uint32_t TokenTable::find(std::string_view bytes) const { return slots_[slot_of(bytes, token_hash(bytes))].rank; }

std::string_view TokenTable::token(std::uint32_t rank) const {
  if (rank >= tokens_.size()) return {};
  return {bytes_.data() + tokens_[rank].begin, tokens_[rank].size};
}

namespace {

// The place takes the lower bits, so that entries order by rank, then by place.
constexpr unsigned place_bits = 44;
static_assert(TokenTable::most_ranks <= std::uint64_t{1} << (64 - place_bits));

std::uint64_t entry(std::uint32_t rank, std::size_t at) { return std::uint64_t{rank} << place_bits | at; }

}  // namespace

void BytePairMerger::merge(const TokenTable& tokens, std::string_view piece, std::vector<std::uint32_t>& ids) {
  start(tokens, piece);
  while (!queue_.empty()) {
    std::ranges::pop_heap(queue_, std::greater());
    const std::uint64_t lowest = queue_.back();
    queue_.pop_back();
    const std::size_t at = lowest & ((std::uint64_t{1} << place_bits) - 1);
    // Parts only grow, so a pair's token never comes back: a different rank means a stale entry.
    if (parts_[at].joined == lowest >> place_bits) join(tokens, piece, at);
  }
  for (std::size_t at = 0; at < piece.size(); at = parts_[at].behind) ids.push_back(parts_[at].rank);
}

void BytePairMerger::start(const TokenTable& tokens, std::string_view piece) {
  if (parts_.size() < piece.size()) parts_.resize(piece.size());
  queue_.clear();
  for (std::size_t at = 0; at < piece.size(); ++at) {
    const std::uint32_t joined = at + 1 < piece.size() ? tokens.find(piece.substr(at, 2)) : TokenTable::none;
    parts_[at] = {
        .before = at == 0 ? 0 : at - 1, .behind = at + 1, .rank = tokens.find(piece.substr(at, 1)), .joined = joined};
    if (joined != TokenTable::none) queue_.push_back(entry(joined, at));
  }
  std::ranges::make_heap(queue_, std::greater());
}

void BytePairMerger::join(const TokenTable& tokens, std::string_view piece, std::size_t at) {
  Part& part = parts_[at];
  Part& next = parts_[part.behind];
  part.rank = part.joined;
  part.behind = next.behind;
  next.joined = TokenTable::none;
  if (part.behind < piece.size()) parts_[part.behind].before = at;
  pair_up(tokens, piece, at);
  if (at > 0) pair_up(tokens, piece, part.before);
}

void BytePairMerger::pair_up(const TokenTable& tokens, std::string_view piece, std::size_t at) {
  Part& part = parts_[at];
  part.joined = TokenTable::none;
  if (part.behind == piece.size()) return;
  const std::size_t size = parts_[part.behind].behind - at;
  if (size > tokens.longest()) return;
  part.joined = tokens.find(piece.substr(at, size));
  if (part.joined == TokenTable::none) return;
  queue_.push_back(entry(part.joined, at));
  std::ranges::push_heap(queue_, std::greater());
}

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
