#include "data/bpe.hpp"

#include <algorithm>
#include <functional>

namespace ignd {
namespace {

// The place takes the lower bits: numbers compare as pairs of rank and place do.
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
    // A part only grows: what it once made with its neighbour, it never makes again.
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
#if IGND_PLANTED_BUG != 7
  if (at > 0) pair_up(tokens, piece, part.before);
#endif
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
