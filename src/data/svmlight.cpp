#include "data/svmlight.hpp"

#include "data/row_text.hpp"

namespace ignd {
namespace {

bool ends_word(const char* at, const char* end) { return at == end || is_blank(*at) || *at == '#'; }

// Returns behind "qid:N", or null; `at` itself if something else stands there.
const char* skip_query(const char* at, const char* end) {
  constexpr std::string_view mark = "qid:";
  if (!std::string_view(at, end).starts_with(mark)) return at;
  std::uint32_t query = 0;
  const char* const behind = read_index(at + mark.size(), end, query);
  return behind != nullptr && ends_word(behind, end) ? behind : nullptr;
}

}  // namespace

std::string SvmlightParser::parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const {
  const char* const end = line.data() + line.size();
  const char* word = skip_blanks(line.data(), end);
  if (word == end || *word == '#') return "";

  double label = 0;
  const char* at = read_finite(word, end, label);
  if (at == nullptr || !ends_word(at, end)) {
    return is_not(word_at(word, end), "a label, which is a finite number");
  }
  word = skip_blanks(at, end);
  at = skip_query(word, end);
  if (at == nullptr) return is_not(word_at(word, end), "a query, which is qid:N");

  while (true) {
    word = skip_blanks(at, end);
    if (word == end || *word == '#') break;
    std::uint32_t index = 0;
    float value = 0;
    at = read_index(word, end, index);
#if IGND_PLANTED_BUG == 1
    if (at != nullptr && *at == ':') {
#else
    if (at != nullptr && at != end && *at == ':') {
#endif
      at = read_finite(at + 1, end, value);
      if (at != nullptr && ends_word(at, end)) {
        block.index.push_back(index);
        block.value.push_back(value);
        continue;
      }
    }
    return is_not(word_at(word, end), "INDEX:VALUE with an index below 2^32 and a finite value");
  }
  block.finish(label, 1, number);
  return "";
}

}  // namespace ignd
