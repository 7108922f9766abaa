#include "data/tokenizer.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "ignd/error.hpp"

#include <fmt/format.h>

namespace ignd {

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
    if (token.empty()) throw InvalidArgument(fmt::format("{} is not the id of a token of text", id));
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
