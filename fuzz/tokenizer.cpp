// Text to token ids and back, with a small vocabulary; and rank files.
#include "data/tokenizer.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "rank_files.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ignd;
using fuzz::require;
using testing::Ranks;

const Ranks& ranks() {
  static const Ranks all = testing::ranks_with({" a", "aa", "ab", "ba", "aba", "abab", "aaaa", "  ", "    ", "\n\n",
                                                "é", "\u00a0", "'s", "12", "!!", "\xbf\xbd", "\ufffd", "the", " the"});
  return all;
}

std::vector<std::uint32_t> encode_naively(std::string_view text) {
  static const TextSplitter splitter;
  static TextSplitter::Scratch scratch;
  std::vector<std::uint32_t> ids;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = splitter.end_of_piece(text, begin, scratch);
    require(end > begin && end <= text.size(), "every piece has an end");
    const std::string_view piece = text.substr(begin, end - begin);
    const auto found = ranks().find(piece);
    if (found != ranks().end()) {
      ids.push_back(found->second);
    } else {
      testing::merge_naively(ranks(), piece, ids);
    }
  }
  return ids;
}

void check_text(std::string_view bytes) {
  static const Tokenizer tokenizer(testing::rank_file(ranks()));
  static Tokenizer::Scratch scratch;
  std::string buffer;
  std::string again;
  const std::string_view text = repaired_utf8(bytes, buffer);
  require(repaired_utf8(text, again).data() == text.data(), "what is repaired needs no repair");
  std::vector<std::uint32_t> ids;
  tokenizer.encode(bytes, ids, scratch);
  require(tokenizer.decode(ids) == text, "ids stand for the text");
  constexpr std::size_t longest = 300;  // of what can be merged naively in no time
  if (text.size() <= longest) require(ids == encode_naively(text), "ids are those of the definition");
}

void check_ranks(const std::string& text) {
  try {
    const TokenTable table(text, "ranks");
    for (std::uint32_t rank = 0; rank < table.end_of_ranks(); ++rank) {
      const std::string_view token = table.token(rank);
      require(token.empty() || table.find(token) == rank, "every token has its rank");
    }
  } catch (const FileError& fault) {
    require(std::string_view(fault.what()).find('\n') == std::string_view::npos, "a fault is one line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_text(bytes);
  check_ranks(std::string(bytes));
  // Behind all that a rank file must have.
  static const std::string single_bytes = testing::rank_file(testing::ranks_with({}));
  check_ranks(single_bytes + std::string(bytes));
  return 0;
}
