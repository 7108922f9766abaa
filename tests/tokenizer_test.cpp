#include "data/tokenizer.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "rank_files.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

// The tokenizer with small vocabularies, against the public pattern and byte-pair encoding by its definition; the real
// vocabulary is for tokenizer_data_test.
namespace ignd {
namespace {

using testing::base64;
using testing::contains;
using testing::merge_naively;
using testing::rank_file;
using testing::Ranks;
using testing::ranks_with;

using Ids = std::vector<std::uint32_t>;

std::string pick(RandomStream& stream, const std::vector<std::string>& from) { return from[stream.below(from.size())]; }

// Bytes that mean something to the splitter, and those that come close.
const std::vector<std::string> characters{"a",      "b",      "s",       "S",      "t",      "T",
                                          "r",      "e",      "E",       "v",      "m",      "l",
                                          "L",      "d",      "'",       "'",      " ",      " ",
                                          "  ",     "\t",     "\n",      "\r",     "\v",     "\f",
                                          "\x1c",   "\x7f",   {"\0", 1}, "1",      "22",     "333",
                                          ".",      "!",      "-",       "_",      "é",      "ſ",
                                          "K",      "ß",      "\u0301",  "²",      "½",      "٣",
                                          "Ⅷ",      "\u0085", "\u00a0",  "\u1680", "\u2003", "\u200b",
                                          "\u200d", "\u2028", "\u2029",  "\u202f", "\u205f", "\u3000",
                                          "\ufffd", "\ufeff", "“",       "’",      "你",     "好",
                                          "，",     "ไ",      "🙂",    "𝔘",      "𝟙",      "<|endoftext|>"};

std::string random_text(RandomStream& stream, std::size_t most) {
  std::string text;
  for (std::uint64_t count = stream.below(most + 1); count > 0; --count) {
    const std::string next = pick(stream, characters);
    for (std::uint64_t times = stream.below(4) == 0 ? 1 + stream.below(9) : 1; times > 0; --times) text += next;
  }
  return text;
}

std::string random_bytes(RandomStream& stream, std::size_t most) {
  std::string text(stream.below(most + 1), '\0');
  for (char& c : text) c = static_cast<char>(stream.below(256));
  return text;
}

// Text with a few bytes that were written over, taken away or added.
std::string damaged_text(RandomStream& stream, std::size_t most) {
  std::string text = random_text(stream, most);
  for (std::uint64_t count = 1 + stream.below(4); count > 0 && !text.empty(); --count) {
    const std::size_t at = stream.below(text.size());
    const char byte = static_cast<char>(stream.below(256));
    switch (stream.below(3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, 1, byte);
        break;
    }
  }
  return text;
}

std::string any_text(RandomStream& stream, std::size_t most) {
  switch (stream.below(3)) {
    case 0:
      return random_text(stream, most);
    case 1:
      return random_bytes(stream, most);
    default:
      return damaged_text(stream, most);
  }
}

// The public pattern as it stands, by PCRE2 without shortcuts.
class PublicPattern {
 public:
  PublicPattern() {
    const std::string pattern =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    int fault = 0;
    PCRE2_SIZE where = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                              &fault, &where, nullptr));
    match_.reset(pcre2_match_data_create(1, nullptr));
    if (!code_ || !match_) throw std::runtime_error("the pattern cannot be compiled");
  }

  std::vector<std::string> split(const std::string& text) const {
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < text.size();) {
      const int code = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin, 0,
                                   match_.get(), nullptr);
      if (code < 0) throw std::runtime_error("the pattern does not match");
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(match_.get());
      EXPECT_EQ(place[0], begin) << "nothing is left out";
      pieces.push_back(text.substr(begin, place[1] - begin));
      begin = place[1];
    }
    return pieces;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

std::vector<std::string> pieces_of(const std::string& text) {
  static const TextSplitter splitter;
  TextSplitter::Scratch scratch;
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter.end_of_piece(text, begin, scratch);
    EXPECT_GT(end, begin);
    EXPECT_LE(end, text.size());
    if (end <= begin) break;
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::string repaired(std::string_view text) {
  std::string buffer;
  return std::string(repaired_utf8(text, buffer));
}

Ids encode(const Tokenizer& tokenizer, std::string_view text) {
  Tokenizer::Scratch scratch;
  Ids ids;
  tokenizer.encode(text, ids, scratch);
  return ids;
}

TEST(Utf8, TextIsLeftAlone) {
  for (const std::string text : {"", "a", "é", "你好", "🙂", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80"}) {
    std::string buffer = "untouched";
    EXPECT_EQ(repaired_utf8(text, buffer), text);
    EXPECT_EQ(buffer, "untouched");
  }
}

// As Python's bytes.decode(errors="replace") has them.
TEST(Utf8, IsRepairedAsPythonDoes) {
  const std::string bad = "\ufffd";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\x80", bad},
      {"a\xff"
       "b",
       "a" + bad + "b"},
      {"\xc0\x80", bad + bad},  // longer than need be
      {"\xc3", bad},            // cut off
      {"\xc3(", bad + "("},
      {"\xe2\x82", bad},  // cut off: one for both bytes
      {"\xe2\x82x", bad + "x"},
      {"\xe0\x80\x80", bad + bad + bad},
      {"\xed\xa0\x80", bad + bad + bad},  // a surrogate
      {"\xf0\x9f\x99", bad},
      {"\xf0\x9f\x99é", bad + "é"},
      {"\xf0\x8f\xbf\xbf", bad + bad + bad + bad},
      {"\xf4\x90\x80\x80", bad + bad + bad + bad},  // beyond Unicode
      {"\xf5\x80", bad + bad},
      {"\xf0\x9f\xf0\x9f\x99\x82", bad + "🙂"},
      {"12345678\x80"
       "12345678\xe2",
       "12345678" + bad + "12345678" + bad},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(repaired(text), expected) << ::testing::PrintToString(text);
}

// A character, by its value: what it would be written as is what it is written as.
bool is_character(const std::string& bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::array<unsigned, 5> payload{0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t value = first & payload[bytes.size()];
  for (std::size_t i = 1; i < bytes.size(); ++i) value = value << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3f);
  if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff) return false;
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](unsigned shift) { return byte(0x80 | (value >> shift & 0x3f)); };
  if (value < 0x80) return bytes == std::string{byte(value)};
  if (value < 0x800) return bytes == std::string{byte(0xc0 | value >> 6), tail(0)};
  if (value < 0x10000) return bytes == std::string{byte(0xe0 | value >> 12), tail(6), tail(0)};
  return bytes == std::string{byte(0xf0 | value >> 18), tail(12), tail(6), tail(0)};
}

bool begins_a_character(const std::string& bytes) {
  if (is_character(bytes)) return true;
  if (bytes.size() == 4) return false;
  for (const char next : {'\x80', '\x8f', '\x90', '\x9f', '\xa0', '\xbf'}) {
    if (begins_a_character(bytes + next)) return true;
  }
  return false;
}

TEST(Utf8, IsRepairedByItsDefinition) {
  RandomStream stream(1, "repair");
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = any_text(stream, 24);
    std::string expected;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 1;
      while (size < 4 && at + size < text.size() && !is_character(text.substr(at, size)) &&
             begins_a_character(text.substr(at, size + 1))) {
        ++size;
      }
      const std::string character = text.substr(at, size);
      expected += is_character(character) ? character : "\ufffd";
      at += size;
    }
    ASSERT_EQ(repaired(text), expected) << ::testing::PrintToString(text);
  }
}

TEST(TextSplitter, CutsAsThePatternSays) {
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of(""), Pieces{});
  EXPECT_EQ(pieces_of("I'm DON'T it'x"), (Pieces{"I", "'m", " DON", "'T", " it", "'x"}));
  EXPECT_EQ(pieces_of("'ſomething"), (Pieces{"'ſ", "omething"}));  // the long s is an s
  EXPECT_EQ(pieces_of("12345 (ab)!\n\n c"), (Pieces{"123", "45", " (", "ab", ")!\n\n", " c"}));
  EXPECT_EQ(pieces_of("a   b  \n  c  "), (Pieces{"a", "  ", " b", "  \n", " ", " c", "  "}));
  EXPECT_EQ(pieces_of("a \tb\t1"), (Pieces{"a", " ", "\tb", "\t", "1"}));
  EXPECT_EQ(pieces_of("a\u3000\u3000b"), (Pieces{"a", "\u3000", "\u3000b"}));
}

TEST(TextSplitter, AVowelSeparatorIsNoSpace) {
  EXPECT_EQ(pieces_of("!\u180e!"), (std::vector<std::string>{"!\u180e!"}));
  EXPECT_EQ(pieces_of("  \u180e"), (std::vector<std::string>{" ", " \u180e"}));
}

TEST(TextSplitter, EqualsThePublicPattern) {
  const PublicPattern pattern;
  RandomStream stream(2, "split");
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = repaired(any_text(stream, 30));
    if (contains(text, "\u180e")) continue;
    ASSERT_EQ(pieces_of(text), pattern.split(text)) << ::testing::PrintToString(text);
  }
}

TEST(TextSplitter, EqualsThePublicPatternOnAllShortTexts) {
  const PublicPattern pattern;
  const std::vector<std::string> letters{"s", "l", "1", "'", " ", "\t", "\n", "!", "é", "²", "\u00a0", "“"};
  std::vector<std::string> texts{""};
  for (int length = 0; length < 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& letter : letters) longer.push_back(text + letter);
    }
    for (const std::string& text : longer) {
      ASSERT_EQ(pieces_of(text), pattern.split(text)) << ::testing::PrintToString(text);
    }
    texts = std::move(longer);
  }
}

TEST(TextSplitter, NoTextIsTooLong) {
  constexpr std::size_t size = 1 << 20;
  for (const char* unit : {"a", " ", "\n", "!", "é", "\u00a0", "“", "\u2028"}) {
    std::string text;
    while (text.size() < size) text += unit;
    EXPECT_EQ(pieces_of(text), std::vector{text}) << unit;
    const std::string more = text + "é";
    std::string joined;
    for (const std::string& piece : pieces_of(more)) joined += piece;
    EXPECT_EQ(joined, more) << unit;
  }
}

TEST(Tokenizer, LooksUpBeforeItMerges) {
  // Merging alone never makes abcd: bc goes first, and neither neighbour goes with it.
  const Tokenizer tokenizer(rank_file(ranks_with({"bc", "ab", "abcd"})));
  EXPECT_EQ(encode(tokenizer, "abcd"), Ids{258});
  EXPECT_EQ(encode(tokenizer, "xabcd"), (Ids{'x', 'a', 256, 'd'}));
  EXPECT_EQ(encode(tokenizer, "xab"), (Ids{'x', 257}));
  EXPECT_EQ(encode(tokenizer, ""), Ids{});
}

TEST(Tokenizer, MergesTheFirstOfEquals) {
  const Tokenizer tokenizer(rank_file(ranks_with({"aa"})));
  EXPECT_EQ(encode(tokenizer, "aaa"), (Ids{256, 'a'}));
  EXPECT_EQ(encode(tokenizer, "baaab"), (Ids{'b', 256, 'a', 'b'}));
}

TEST(Tokenizer, AppendsIds) {
  const Tokenizer tokenizer(rank_file(ranks_with({})));
  Tokenizer::Scratch scratch;
  Ids ids{7};
  tokenizer.encode("a", ids, scratch);
  tokenizer.encode("b", ids, scratch);
  EXPECT_EQ(ids, (Ids{7, 'a', 'b'}));
}

TEST(Tokenizer, SpecialIdsAreNoText) {
  const Tokenizer tokenizer(rank_file(ranks_with({"ab"})), "ranks", 21);
  EXPECT_EQ(tokenizer.vocabulary(), 257U + 21);
  EXPECT_EQ(tokenizer.decode(Ids{256, 'c'}), "abc");
  EXPECT_EQ(tokenizer.decode(Ids{}), "");
  for (const std::uint32_t id : {257U, 277U, 278U, 0xffffffffU}) {
    EXPECT_THROW(tokenizer.decode(Ids{'a', id}), InvalidArgument) << id;
  }
  EXPECT_EQ(tokenizer.decode(encode(tokenizer, "<|endoftext|>")), "<|endoftext|>");
}

// Tokens made of others, in an order of ranks that knows nothing of it, so that some cannot be reached by merging.
Ranks random_ranks(RandomStream& stream) {
  Ranks ranks = ranks_with({});
  std::vector<std::string> tokens = characters;
  for (std::string& token : tokens) token.resize(std::min(token.size(), 1 + stream.below(4)));
  for (std::uint64_t count = stream.below(400); count > 0; --count) {
    const std::string token = pick(stream, tokens) + pick(stream, tokens);
    if (token.size() <= 20) tokens.push_back(token);
  }
  std::vector<std::uint32_t> order(256 + tokens.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  stream.shuffle(order);
  for (const std::string& token : tokens) ranks.emplace(token, 0);
  std::size_t next = 0;
  for (auto& [token, rank] : ranks) rank = order[next++];  // with gaps, where a token was made twice
  return ranks;
}

TEST(Tokenizer, EqualsItsDefinition) {
  const PublicPattern pattern;
  RandomStream stream(3, "encode");
  for (int vocabulary = 0; vocabulary < 60; ++vocabulary) {
    const Ranks ranks = random_ranks(stream);
    const Tokenizer tokenizer(rank_file(ranks));
    Tokenizer::Scratch scratch;
    for (int i = 0; i < 100; ++i) {
      const std::string text = any_text(stream, 60);
      Ids expected;
      for (const std::string& piece : pattern.split(repaired(text))) {
        const auto found = ranks.find(piece);
        if (found != ranks.end()) {
          expected.push_back(found->second);
        } else {
          merge_naively(ranks, piece, expected);
        }
      }
      Ids ids;
      tokenizer.encode(text, ids, scratch);
      ASSERT_EQ(ids, expected) << ::testing::PrintToString(text);
      ASSERT_EQ(tokenizer.decode(ids), repaired(text)) << ::testing::PrintToString(text);
    }
  }
}

// Few letters, so that pairs get in each other's way all the time.
TEST(BytePairMerger, EqualsItsDefinition) {
  RandomStream stream(6, "merge");
  BytePairMerger merger;
  const std::vector<std::string> letters{"a", "b", "c"};
  const auto word = [&](std::uint64_t length) {
    std::string text;
    for (; length > 0; --length) text += pick(stream, letters);
    return text;
  };
  for (int vocabulary = 0; vocabulary < 200; ++vocabulary) {
    std::vector<std::string> more;
    for (std::uint64_t count = stream.below(60); count > 0; --count) more.push_back(word(2 + stream.below(4)));
    const Ranks ranks = ranks_with(more);
    const TokenTable tokens(rank_file(ranks), "ranks");
    for (int i = 0; i < 50; ++i) {
      const std::string piece = word(1 + stream.below(40));
      Ids expected;
      merge_naively(ranks, piece, expected);
      Ids ids;
      merger.merge(tokens, piece, ids);
      ASSERT_EQ(ids, expected) << piece;
    }
  }
}

// No token has an x beside another letter: what lies between two of them knows nothing of the rest, however long it is.
TEST(BytePairMerger, PartsThatNeverMeetAreMergedAsIfAlone) {
  RandomStream stream(7, "long pieces");
  const TokenTable tokens(rank_file(ranks_with({"ab", "ba", "aa", "abb", "baab", "aaa", "bb"})), "ranks");
  BytePairMerger merger;
  for (const std::size_t parts : {100U, 1000U, 20000U}) {
    std::string piece;
    Ids expected;
    for (std::size_t i = 0; i < parts; ++i) {
      std::string part;
      for (std::uint64_t length = stream.below(12); length > 0; --length) part += pick(stream, {"a", "b"});
      part += 'x';
      merger.merge(tokens, part, expected);
      piece += part;
    }
    Ids ids;
    merger.merge(tokens, piece, ids);
    EXPECT_TRUE(ids == expected) << parts;
  }
}

TEST(Tokenizer, LongPiecesAreMergedToo) {
  const Ranks ranks = ranks_with({"aa", "aaaa", "ab", "ba", "abab", "  ", "    ", "é", "\n\n"});
  const Tokenizer tokenizer(rank_file(ranks));
  for (const std::string unit : {"a", "ab", "aab", " ", "\n", "é", "\xff"}) {
    std::string text;
    while (text.size() < 300) text += unit;
    Ids expected;
    merge_naively(ranks, repaired(text), expected);
    EXPECT_EQ(encode(tokenizer, text), expected) << unit;
    while (text.size() < 1 << 18) text += text;
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text)), repaired(text)) << unit;
  }
}

TEST(Tokenizer, IsSharedByThreads) {
  RandomStream stream(4, "threads");
  const Tokenizer tokenizer(rank_file(random_ranks(stream)));
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(any_text(stream, 100));
    expected.push_back(encode(tokenizer, texts.back()));
  }
  std::array<std::vector<Ids>, 4> found;
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (std::vector<Ids>& mine : found) {
    threads.emplace_back([&] {
      Tokenizer::Scratch scratch;
      for (const std::string& text : texts) tokenizer.encode(text, mine.emplace_back(), scratch);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Ids>& mine : found) EXPECT_EQ(mine, expected);
}

std::string fault_of(const std::string& ranks) {
  try {
    const TokenTable table(ranks, "'x.tiktoken'");
  } catch (const FileError& fault) {
    EXPECT_FALSE(contains(fault.what(), "\n")) << fault.what();
    EXPECT_TRUE(contains(fault.what(), "'x.tiktoken'")) << fault.what();
    return fault.what();
  }
  return "";
}

TEST(RankFile, FaultsAreNamedWithTheirLine) {
  const std::string good = rank_file(ranks_with({"ab"}));
  const auto with = [&](const std::string& line) { return fault_of(good + line + "\n"); };
  EXPECT_EQ(fault_of(good), "");
  EXPECT_EQ(fault_of(good.substr(0, good.size() - 1)), "");  // without its last line end
  EXPECT_EQ(with(base64("abc") + " 257"), "");
  EXPECT_EQ(with(base64("abc") + " 300"), "");
  EXPECT_EQ(with(base64(std::string(TokenTable::longest_token, 'x')) + " 257"), "");

  EXPECT_EQ(with("!AAA 257"), "'x.tiktoken', line 258: '!AAA' is not base64; download the file again");
  for (const char* bad : {"A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA=A", "AAAA=", "AAAA====", "AAAAAA"}) {
    EXPECT_TRUE(contains(with(std::string(bad) + " 257"), "line 258: '" + std::string(bad) + "' is not base64")) << bad;
  }
  EXPECT_TRUE(contains(with(""), "line 258: there is no space"));
  EXPECT_TRUE(contains(with("QUJD"), "line 258: there is no space"));
  EXPECT_TRUE(contains(with(" 257"), "line 258: the token is empty"));
  for (const char* bad : {"", " 1", "-1", "+1", "1 ", "0x1", "1.0", "x", "1\r", "1048576", "99999999999999999999"}) {
    EXPECT_TRUE(contains(with("QUJD " + std::string(bad)), "line 258: the rank")) << bad;
  }
  EXPECT_TRUE(contains(with("QUJD 256"), "line 258: the rank 256 occurs on an earlier line too"));
  EXPECT_TRUE(contains(with(base64("ab") + " 257"), "line 258: the token occurs on an earlier line too"));
  EXPECT_TRUE(contains(with(base64(std::string(TokenTable::longest_token + 1, 'x')) + " 257"), "is longer than 256"));
  EXPECT_TRUE(contains(with(base64(std::string(100'000, 'x')) + " 257"), "is longer than 256"));

  Ranks without = ranks_with({});
  without.erase("\x7f");
  EXPECT_TRUE(contains(fault_of(rank_file(without)), "no token for the byte 0x7f"));
  EXPECT_TRUE(contains(fault_of(""), "no token for the byte 0x00"));
}

TEST(RankFile, GarbageIsRefusedOrUsed) {
  RandomStream stream(5, "garbage");
  for (int i = 0; i < 2'000; ++i) {
    EXPECT_NE(fault_of(random_bytes(stream, 200)), "");
    std::string text = rank_file(ranks_with({"ab", "cd"}));
    for (std::uint64_t count = 1 + stream.below(3); count > 0; --count) {
      text[stream.below(text.size())] = static_cast<char>(stream.below(256));
    }
    if (!fault_of(text).empty()) continue;
    const Tokenizer tokenizer(text);
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, "abcd é")), "abcd é");
  }
}

}  // namespace
}  // namespace ignd
