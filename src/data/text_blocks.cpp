#include "data/text_blocks.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace ignd {
namespace {

// Counts in bytes, in chunks that cannot overflow one, so that the compiler can vectorise the loop.
std::uint64_t count_newlines(std::string_view text) {
  constexpr std::size_t most = 255;
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < text.size(); at += most) {
    std::uint8_t count = 0;
    for (const char c : text.substr(at, most)) count = static_cast<std::uint8_t>(count + (c == '\n' ? 1 : 0));
    total += count;
  }
  return total;
}

}  // namespace

bool LineBlocks::next(LineBlock& block) {
  std::size_t room = std::max(block_size_, begun_.size() + 1);
  const auto make_room = [&] {
    if (block.bytes.size() < room) block.bytes.resize(room);
  };
  make_room();
  std::copy(begun_.begin(), begun_.end(), block.bytes.begin());
  std::size_t filled = begun_.size();
  block.size = 0;

  while (block.size == 0) {
    if (filled == room) {
      if (room > longest_line) {
        throw FileError(fmt::format("{}, line {}: is longer than {} MiB; is this a text file of examples?",
                                    source_->name(), next_line_, longest_line >> 20));
      }
      room = std::min(2 * room, longest_line + 1);
      make_room();
    }
    const std::size_t count = source_->read(std::span(block.bytes).subspan(filled, room - filled));
    if (count == 0) {
      if (filled == 0) return false;
      block.bytes[filled++] = '\n';
      block.size = filled;
    } else {
      const std::string_view fresh(block.bytes.data() + filled, count);
      const std::size_t newline = fresh.rfind('\n');
      if (newline != std::string_view::npos) block.size = filled + newline + 1;
      filled += count;
    }
  }
  begun_.assign(block.bytes.data() + block.size, filled - block.size);
  block.first_line = next_line_;
  next_line_ += count_newlines(block.text());
  return true;
}

}  // namespace ignd
