#include "data/bpe.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <functional>

#include <fmt/format.h>
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

}  // namespace ignd
