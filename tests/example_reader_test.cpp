#include "data/example_reader.hpp"

#include "base/text.hpp"
#include "byte_sources.hpp"
#include "data/example_parser.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/random.hpp"
#include "scratch_folder.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

// The hash is the format's, not the library's: the test computes it on its own.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ignd {
namespace {

using testing::Pieces;
using testing::ScratchFolder;

constexpr auto svmlight = ExampleFormat::svmlight;
constexpr auto vw = ExampleFormat::vw;
constexpr double unlabelled = std::numeric_limits<double>::quiet_NaN();

struct Example {
  double target = 0;
  double weight = 1;
  std::uint64_t line = 1;
  std::vector<std::pair<std::uint32_t, float>> features;

  bool operator==(const Example& other) const {
    return std::bit_cast<std::uint64_t>(target) == std::bit_cast<std::uint64_t>(other.target) &&
           weight == other.weight && line == other.line && features == other.features;
  }
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << fmt::format("line {}: {} x {}", example.line, example.target, example.weight);
  for (const auto& [index, value] : example.features) *out << fmt::format(" {}:{}", index, value);
}

// All that a reader gives, and how it ended.
struct Outcome {
  std::vector<Example> examples;
  std::string error;
  std::uint64_t skipped = 0;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  for (const auto& example : outcome.examples) {
    PrintTo(example, out);
    *out << "\n";
  }
  *out << outcome.error << ", skipped " << outcome.skipped;
}

void append(std::vector<Example>& examples, const ExampleBlock& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    Example example{block.target[i], block.weight[i], block.line[i], {}};
    for (std::size_t k = block.begin_of(i); k < block.end[i]; ++k) {
      example.features.emplace_back(block.index[k], block.value[k]);
    }
    examples.push_back(example);
  }
}

Outcome read_all(ExampleReader& reader) {
  Outcome outcome;
  ExampleBlock block;
  try {
    while (reader.next(block)) {
      EXPECT_GT(block.size(), 0U);
      EXPECT_EQ(block.index.size(), block.value.size());
      EXPECT_EQ(block.end.back(), block.index.size());
      append(outcome.examples, block);
    }
    EXPECT_FALSE(reader.next(block)) << "the end is the end";
  } catch (const FileError& error) {
    outcome.error = error.what();
    EXPECT_THROW(reader.next(block), FileError) << "an error stays";
  }
  outcome.skipped = reader.skipped_rows();
  return outcome;
}

constexpr std::size_t at_once = std::numeric_limits<std::size_t>::max();

Outcome read_text(const std::string& text, std::optional<ExampleFormat> format,
                  const ExampleReaderOptions& options = {}, std::size_t piece = at_once, bool breaks = false) {
  ExampleReader reader(std::make_unique<Pieces>(text, piece, breaks), format, options);
  return read_all(reader);
}

std::vector<Example> examples_of(const std::string& text, ExampleFormat format) {
  const Outcome outcome = read_text(text, format);
  EXPECT_EQ(outcome.error, "");
  return outcome.examples;
}

// The error of a text whose first line is good and whose second is not.
std::string fault_of(const std::string& line, ExampleFormat format) {
  const std::string good = format == vw ? "1 | 1:2\n" : "1 1:2\n";
  const Outcome outcome = read_text(good + line + "\n" + good, format);
  EXPECT_EQ(outcome.examples.size(), 1U) << line;
  const Outcome skipping = read_text(good + line + "\n" + good, format, {.bad_rows = BadRows::skip});
  EXPECT_EQ(skipping.skipped, 1U) << line;
  EXPECT_EQ(skipping.error, "");
  EXPECT_EQ(skipping.examples, (std::vector<Example>{{1, 1, 1, {{1, 2}}}, {1, 1, 3, {{1, 2}}}})) << line;
  return outcome.error;
}

float random_value(RandomStream& stream) {
  switch (stream.below(4)) {
    case 0:
      return 1;
    case 1:
      return static_cast<float>(stream.below(100));
    case 2:
      return static_cast<float>(stream.normal() * std::pow(10, stream.uniform(-40, 37)));
    default:
      return static_cast<float>(stream.normal());
  }
}

std::string blanks(RandomStream& stream) {
  std::string text(1 + stream.below(2), ' ');
  if (stream.below(5) == 0) text += '\t';
  return text;
}

struct Written {
  std::string text;
  std::vector<Example> examples;
};

std::string line_end(RandomStream& stream) { return stream.below(4) == 0 ? "\r\n" : "\n"; }

Written random_svmlight(RandomStream& stream, std::size_t lines) {
  Written out;
  for (std::size_t line = 1; line <= lines; ++line) {
    if (stream.below(8) == 0) {
      out.text += std::array{"", "  ", "# 1 2:3", " \t# x", "#"}[stream.below(5)] + line_end(stream);
      continue;
    }
    Example example{stream.normal(), 1, line, {}};
    out.text += fmt::format("{}{}", stream.below(5) == 0 ? " " : "", example.target);
    if (stream.below(4) == 0) out.text += fmt::format("{}qid:{}", blanks(stream), stream.bits32());
    for (std::uint64_t count = stream.below(8); count > 0; --count) {
      const std::uint32_t index = stream.bits32() >> stream.below(32);
      const float value = random_value(stream);
      example.features.emplace_back(index, value);
      out.text += fmt::format("{}{}:{}", blanks(stream), index, value);
    }
    if (stream.below(4) == 0) out.text += " # 5:x |";
    out.text += line_end(stream);
    out.examples.push_back(example);
  }
  return out;
}

std::uint32_t hashed(std::string_view space, std::string_view name) {
  const std::uint64_t seed = space.empty() ? 0 : XXH3_64bits(space.data(), space.size());
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(name.data(), name.size(), seed));
}

void add_random_namespace(RandomStream& stream, std::string& text, Example& example) {
  const std::string space = std::array{"", "a", "words", "\xc3\xa9t\xc3\xa9", "7"}[stream.below(5)];
  text += "|" + space;
  const double scale = !space.empty() && stream.below(3) == 0 ? 0.5 : 1;
  if (scale != 1) text += ":.5";
  for (std::uint64_t count = stream.below(5); count > 0; --count) {
    const bool numbered = stream.below(2) == 0;
    const std::uint32_t number = stream.bits32() >> stream.below(32);
    const std::string name = fmt::format("{}{}", numbered ? "" : "f", number);
    const bool plain = stream.below(3) == 0;
    const std::string value = plain ? "1" : fmt::format("{}", random_value(stream));
    text += blanks(stream) + name + (plain ? "" : ":" + value);
    example.features.emplace_back(space.empty() && numbered ? number : hashed(space, name),
                                  static_cast<float>(std::stod(value) * scale));
  }
  text += blanks(stream);
}

Written random_vw(RandomStream& stream, std::size_t lines) {
  Written out;
  for (std::size_t line = 1; line <= lines; ++line) {
    if (stream.below(8) == 0) {
      out.text += std::array{"", "  "}[stream.below(2)] + line_end(stream);
      continue;
    }
    Example example{unlabelled, 1, line, {}};
    const std::uint64_t numbers = stream.below(4);
    if (numbers > 0) out.text += fmt::format("{} ", example.target = stream.normal());
    if (numbers > 1) out.text += fmt::format("{} ", example.weight = stream.uniform(0, 3));
    if (numbers > 2) out.text += "0 ";
    out.text += std::array{"", "'tag ", "'tag", "touching"}[stream.below(4)];
    for (std::uint64_t spaces = 1 + stream.below(3); spaces > 0; --spaces) {
      add_random_namespace(stream, out.text, example);
    }
    out.text += line_end(stream);
    out.examples.push_back(example);
  }
  return out;
}

Written random_text(RandomStream& stream, ExampleFormat format, std::size_t lines) {
  return format == vw ? random_vw(stream, lines) : random_svmlight(stream, lines);
}

class EveryFormat : public ::testing::TestWithParam<ExampleFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, ::testing::Values(svmlight, vw),
                         [](const auto& format) { return format.param == vw ? "vw" : "svmlight"; });

TEST_P(EveryFormat, GivesBackRandomExamples) {
  RandomStream stream(1, "examples");
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Written written = random_text(stream, GetParam(), 1 + stream.below(60));
    EXPECT_EQ(read_text(written.text, GetParam()), (Outcome{written.examples, "", 0})) << written.text;
  }
}

TEST_P(EveryFormat, ReadsTheSameInAnyBlocksAndPieces) {
  RandomStream stream(2, "examples");
  const Written written = random_text(stream, GetParam(), 12);
  for (std::size_t block = 1; block <= written.text.size() + 1; ++block) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{5}, block / 2 + 1, at_once}) {
      EXPECT_EQ(read_text(written.text, GetParam(), {.block_size = block}, piece).examples, written.examples)
          << block << " " << piece;
    }
  }
}

TEST_P(EveryFormat, ReadsAFileCutAnywhereUpToThere) {
  RandomStream stream(3, "examples");
  const Written written = random_text(stream, GetParam(), 12);
  for (std::size_t size = 0; size <= written.text.size(); ++size) {
    const std::string front = written.text.substr(0, size);
    const Outcome whole = read_text(front, GetParam());
    for (const std::size_t block : {1U, 16U, 100U}) {
      EXPECT_EQ(read_text(front, GetParam(), {.block_size = block}), whole) << size << " " << block;
    }
    std::size_t lines = 0;
    for (const char c : front) lines += c == '\n' ? 1 : 0;
    for (std::size_t i = 0; i < written.examples.size() && written.examples[i].line <= lines; ++i) {
      ASSERT_LT(i, whole.examples.size());
      EXPECT_EQ(whole.examples[i], written.examples[i]);
    }
  }
}

TEST_P(EveryFormat, NeedsNoLastNewline) {
  RandomStream stream(4, "examples");
  for (int repeat = 0; repeat < 20; ++repeat) {
    Written written = random_text(stream, GetParam(), 5);
    while (!written.text.empty() && (written.text.back() == '\n' || written.text.back() == '\r')) {
      written.text.pop_back();
    }
    EXPECT_EQ(read_text(written.text, GetParam()).examples, written.examples) << written.text;
  }
}

TEST_P(EveryFormat, IsEmptyWhereTheFileIs) {
  for (const auto* text : {"", "\n", "\r\n", "  \n\t\n", "\n\n\n\n"}) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      EXPECT_EQ(read_text(text, GetParam(), {.threads = threads, .block_size = 2}), Outcome{});
    }
  }
}

TEST_P(EveryFormat, ThreadsChangeNothing) {
  RandomStream stream(5, "examples");
  const std::string bad = "what\n";
  for (int repeat = 0; repeat < 60; ++repeat) {
    std::string text = random_text(stream, GetParam(), 40).text;
    if (repeat % 3 > 0) text.insert(text.find('\n', stream.below(text.size() - 1)) + 1, bad);
    if (repeat % 3 > 1) text.insert(text.find('\n', stream.below(text.size() - 1)) + 1, bad);
    const bool breaks = repeat % 4 == 0;
    for (const BadRows policy : {BadRows::stop, BadRows::skip}) {
      for (const std::size_t block : {20U, 300U, 100000U}) {
        const auto read = [&](unsigned threads) {
          return read_text(text, GetParam(), {threads, policy, block}, at_once, breaks);
        };
        const Outcome one = read(1);
        for (const unsigned threads : {2U, 3U}) EXPECT_EQ(read(threads), one) << text;
        if (policy == BadRows::skip) {
          EXPECT_EQ(one.skipped, static_cast<std::uint64_t>(repeat % 3));
          EXPECT_EQ(one.error, breaks ? "the pieces broke off" : "");
        }
      }
    }
  }
}

TEST_P(EveryFormat, AnErrorNamesTheLineAndComesBehindAllExamplesBefore) {
  RandomStream stream(6, "examples");
  const Written written = random_text(stream, GetParam(), 30);
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < written.text.size(); at = written.text.find('\n', at) + 1, ++line) {
    std::string text = written.text;
    text.insert(at, "x\x01y 3\n");
    std::vector<Example> before;
    for (const auto& example : written.examples) {
      if (example.line < line) before.push_back(example);
    }
    for (const std::size_t block : {8U, 200U, 100000U}) {
      const Outcome outcome = read_text(text, GetParam(), {.block_size = block});
      EXPECT_EQ(outcome.examples, before);
      EXPECT_TRUE(outcome.error.starts_with(fmt::format("'pieces', line {}: 'x\\x01y", line))) << outcome.error;
    }
  }
}

TEST_P(EveryFormat, GarbageGivesExamplesOrOneLineAboutIt) {
  RandomStream stream(7, "garbage");
  const std::string_view likely = "0123456789.:-+e |#'\t\r\n\n";
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::string text(stream.below(300), '\0');
    const std::uint64_t wild = stream.below(3) == 0 ? 2 : 20;
    for (char& c : text) {
      c = stream.below(wild) == 0 ? static_cast<char>(stream.below(256)) : likely[stream.below(likely.size())];
    }
    const Outcome stopped = read_text(text, GetParam(), {.block_size = 64});
    EXPECT_EQ(printable(stopped.error, stopped.error.size()), stopped.error);
    const Outcome skipping = read_text(text, GetParam(), {.bad_rows = BadRows::skip});
    // What looks like a file of another kind is refused as a whole.
    if (stopped.error.find("file") != std::string::npos && stopped.error == skipping.error) continue;
    EXPECT_EQ(stopped.error.empty(), skipping.skipped == 0) << stopped.error;
    EXPECT_TRUE(std::equal(stopped.examples.begin(), stopped.examples.end(), skipping.examples.begin()));
    for (const auto& example : skipping.examples) {
      EXPECT_TRUE(GetParam() == vw || std::isfinite(example.target));
      EXPECT_TRUE(example.weight >= 0 && std::isfinite(example.weight));
      for (const auto& [index, value] : example.features) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST_P(EveryFormat, NulAndBrokenUtf8AreBytesLikeOthers) {
  const std::string nul(1, '\0');
  EXPECT_NE(fault_of(nul + " 1:2", GetParam()).find("'\\x00"), std::string::npos);
  EXPECT_NE(fault_of("1\xc3 1:2", GetParam()).find("'1\\xc3"), std::string::npos);
  EXPECT_EQ(examples_of("1 |\xff " + nul + ":2\n", vw)[0].features[0].first, hashed("\xff", nul));
  EXPECT_EQ(examples_of("1 1:2 # " + nul + "\xff\n", svmlight).size(), 1U);
}

TEST_P(EveryFormat, MayBeClosedAtAnyMoment) {
  RandomStream stream(8, "examples");
  const Written written = random_text(stream, GetParam(), 60);
  for (int blocks = 0; blocks < 15; ++blocks) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      ExampleReader reader(std::make_unique<Pieces>(written.text, at_once), GetParam(), {threads, BadRows::stop, 64});
      ExampleBlock block;
      for (int i = 0; i < blocks; ++i) reader.next(block);
    }
  }
}

TEST_P(EveryFormat, GivesWhatHasArrivedAndMayBeClosedWhileItWaits) {
  const std::string line = GetParam() == vw ? "1 | 2:3\n" : "1 2:3\n";
  for (const unsigned threads : {1U, 2U, 3U}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const std::string text = line + line + line.substr(0, 3);
    ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    {
      ExampleReader reader(fmt::format("/dev/fd/{}", ends[0]), GetParam(), {.threads = threads});
      ExampleBlock block;
      std::size_t count = 0;
      while (count < 2 && reader.next(block)) count += block.size();
      EXPECT_EQ(count, 2U) << "the other end is still open";
    }
    close(ends[0]);
    close(ends[1]);
  }
}

TEST_P(EveryFormat, RefusesALineThatIsTooLong) {
  const std::string line = GetParam() == vw ? "1 | 2:3\n" : "1 2:3\n";
  std::string longest = line;
  longest.insert(longest.size() - 1, LineBlocks::longest_line - line.size() + 1, ' ');
  EXPECT_EQ(read_text(line + longest + line, GetParam()).examples.size(), 3U);
  EXPECT_EQ(read_text(line + longest.substr(0, longest.size() - 1), GetParam()).examples.size(), 2U);
  for (const bool ends : {true, false}) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      const Outcome outcome = read_text(line + line + " " + longest.substr(0, longest.size() - (ends ? 0 : 1)),
                                        GetParam(), {.threads = threads});
      EXPECT_EQ(outcome.examples.size(), 2U);
      EXPECT_EQ(outcome.error, "'pieces', line 3: is longer than 4 MiB; is this a text file of examples?");
    }
  }
}

TEST_P(EveryFormat, GivesTheLinesBeforeTheFileBreaks) {
  const std::string line = GetParam() == vw ? "1 | 2:3\n" : "1 2:3\n";
  for (const std::size_t block : {4U, 20U, 1000U}) {
    const Outcome outcome = read_text(line + line + "1 ", GetParam(), {.block_size = block}, at_once, true);
    EXPECT_EQ(outcome.examples.size(), 2U);
    EXPECT_EQ(outcome.error, "the pieces broke off");
  }
}

TEST(Svmlight, SaysWhatIsWrongWithARow) {
  for (const auto* label : {"x", "nan", "inf", "-inf", "1e999", "1x", "3:4", "|", ",", "1,2"}) {
    EXPECT_EQ(fault_of(fmt::format("{} 3:4", label), svmlight),
              fmt::format("'pieces', line 2: '{}' is not a label, which is a finite number", label));
  }
  for (const auto* feature : {"3", "3:", ":3", ":", "3:x", "3:nan", "3:inf", "3:1e39", "3:-1e999", "-3:4", "+3:4",
                              "3.0:4", "3:4:5", "4294967296:1", "99999999999999999999999:1", "a:1", "3:4,", "qid:1"}) {
    for (const auto* before : {"1", "1 qid:4", "1 1:2 2:3", "1 12345678:12345678"}) {
      for (const auto* behind : {"", " 5:6", " # comment", " 1234567:1.234567 2345678:2.34"}) {
        if (feature == std::string_view("qid:1") && before == std::string_view("1")) continue;
        EXPECT_EQ(fault_of(fmt::format("{} {}{}", before, feature, behind), svmlight),
                  fmt::format("'pieces', line 2: '{}' is not INDEX:VALUE with an index below 2^32 and a finite value",
                              feature));
      }
    }
  }
  for (const auto* query : {"qid:", "qid:x", "qid:-1", "qid:1.5", "qid:1:2"}) {
    EXPECT_EQ(fault_of(fmt::format("1 {} 3:4", query), svmlight),
              fmt::format("'pieces', line 2: '{}' is not a query, which is qid:N", query));
  }
}

TEST(Svmlight, TakesTheLargestIndexAndAnyNumber) {
  EXPECT_EQ(examples_of("+1 4294967295:1e-50 0:-.5#x\n", svmlight),
            (std::vector<Example>{{1, 1, 1, {{4294967295, 0.0F}, {0, -0.5F}}}}));
}

TEST(Svmlight, AnExampleNeedsNoFeatures) {
  EXPECT_EQ(examples_of("-2\n3 #\n", svmlight), (std::vector<Example>{{-2, 1, 1, {}}, {3, 1, 2, {}}}));
}

TEST(VwText, ReadsLabelsImportancesAndTags) {
  const std::vector<std::pair<std::string, Example>> lines{
      {"| 5", {unlabelled, 1, 1, {{5, 1}}}},
      {"2 | 5", {2, 1, 1, {{5, 1}}}},
      {"2 0.5 | 5", {2, 0.5, 1, {{5, 1}}}},
      {"2 0 0 | 5", {2, 0, 1, {{5, 1}}}},
      {"2 0.5 0 'tag | 5", {2, 0.5, 1, {{5, 1}}}},
      {"2 0.5 'tag| 5", {2, 0.5, 1, {{5, 1}}}},
      {"2 0.5 tag| 5", {2, 0.5, 1, {{5, 1}}}},
      {"tag| 5", {unlabelled, 1, 1, {{5, 1}}}},
      {"'tag | 5", {unlabelled, 1, 1, {{5, 1}}}},
      {"2|5", {unlabelled, 1, 1, {}}},
      {"2 |", {2, 1, 1, {}}},
      {"2 ||", {2, 1, 1, {}}},
      {"2 |a|b", {2, 1, 1, {}}},
      {"2 | 5|a b", {2, 1, 1, {{5, 1}, {hashed("a", "b"), 1}}}},
  };
  for (const auto& [line, example] : lines) EXPECT_EQ(examples_of(line, vw), std::vector{example}) << line;
}

TEST(VwText, NumbersAreIndicesOnlyInTheNamespaceWithoutAName) {
  EXPECT_EQ(examples_of("| 7 007 4294967295 4294967296 7a -7 7.5:2\n", vw)[0].features,
            (std::vector<std::pair<std::uint32_t, float>>{{7, 1},
                                                          {7, 1},
                                                          {4294967295, 1},
                                                          {hash_feature("4294967296"), 1},
                                                          {hash_feature("7a"), 1},
                                                          {hash_feature("-7"), 1},
                                                          {hash_feature("7.5"), 2}}));
  EXPECT_EQ(examples_of("|a 7\n", vw)[0].features[0].first, hashed("a", "7"));
}

TEST(VwText, ScalesTheFeaturesOfOneNamespace) {
  EXPECT_EQ(
      examples_of("|a:0.5 x:3 y |b x | z\n", vw)[0].features,
      (std::vector<std::pair<std::uint32_t, float>>{
          {hashed("a", "x"), 1.5F}, {hashed("a", "y"), 0.5F}, {hashed("b", "x"), 1.0F}, {hashed("", "z"), 1.0F}}));
}

TEST(VwText, SaysWhatIsWrongWithARow) {
  EXPECT_EQ(fault_of("1 2:3", vw),
            "'pieces', line 2: '1 2:3' is not an example, which has a bar '|' before its features");
  for (const auto* label : {"x", "nan", "inf", "1e999", "1:2", "1x"}) {
    EXPECT_EQ(fault_of(fmt::format("{} 1 | a", label), vw),
              fmt::format(
                  "'pieces', line 2: '{}' is not a finite number; label, importance, base and 'TAG come before the bar",
                  label));
  }
  EXPECT_EQ(fault_of("1 nan | a", vw),
            "'pieces', line 2: 'nan' is not a finite number; label, importance, base and 'TAG come before the bar");
  EXPECT_EQ(fault_of("1 -0.5 | a", vw), "'pieces', line 2: the importance -0.5 is negative");
  EXPECT_EQ(fault_of("1 1 2 | a", vw), "'pieces', line 2: the base prediction is 2, but only 0 can be used");
  EXPECT_EQ(fault_of("1 1 0 4 | a", vw),
            "'pieces', line 2: '4' is not a tag; after label, importance and base comes 'TAG or a bar");
  for (const auto* space : {"a:", ":", ":2", "a:x", "a:inf", "a:2x", "a:1:2"}) {
    EXPECT_EQ(
        fault_of(fmt::format("1 |{} a b", space), vw),
        fmt::format("'pieces', line 2: '{}' is not NAME or NAME:SCALE of a namespace, with a finite scale", space));
  }
  for (const auto* feature :
       {":", ":1", "a:", "a:x", "a:nan", "a:inf", "a:1e39", "a:1:2", "3:", "3:4x", "12345678:x"}) {
    for (const auto* behind : {"", " b", "|b", " 1234567:1.2345678 c:5"}) {
      EXPECT_EQ(
          fault_of(fmt::format("1 | b {}{}", feature, behind), vw),
          fmt::format("'pieces', line 2: '{}' is not NAME or NAME:VALUE of a feature, with a finite value", feature));
    }
  }
  EXPECT_NE(fault_of("1 |a:1e30 b:1e30", vw), "") << "finite numbers whose product is not";
}

TEST(ExampleFormat, HasANameAndWhatReadsIt) {
  EXPECT_EQ(format_names(), (std::vector<std::string>{"csv", "tsv", "svmlight", "vw"}));
  for (const std::string& name : format_names()) EXPECT_EQ(find_format(name)->name, name);
  EXPECT_EQ(find_format("xml"), nullptr);
  EXPECT_EQ(find_format("tsv")->format, ExampleFormat::csv);
  EXPECT_EQ(format_info(ExampleFormat::csv).name, "csv");
  for (const auto format : {svmlight, vw}) {
    EXPECT_EQ(format_info(format).format, format);
    EXPECT_FALSE(format_info(format).line.empty());
    EXPECT_NE(make_example_parser(format), nullptr);
  }
  EXPECT_THROW(make_example_parser(ExampleFormat::csv), InvalidArgument);
}

TEST(ExampleFormat, OneThatIsNotKnownIsRefusedWithThoseThatAre) {
  try {
    read_text("1\n2\n", {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& fault) {
    EXPECT_STREQ(fault.what(),
                 "'pieces' does not begin with lines of svmlight (LABEL INDEX:VALUE ...) or vw (LABEL | NAME ...); for "
                 "comma-separated values, name the target's column");
  }
}

TEST(ExampleFormat, IsGuessedFromTheFirstLines) {
  const std::vector<std::pair<std::string, std::optional<ExampleFormat>>> files{
      {"1 3:4\n", svmlight},
      {"# a comment | here\n\n1\n-1 qid:3 3:4 # a|b", svmlight},
      {"1 3:4 5:", svmlight},
      {"1 3:4 5:6 7", svmlight},
      {"1 | a\n", vw},
      {"\n\r\n1 2 'tag |a b c:2\r\n", vw},
      {"| 3:4\n", vw},
      {"1 |words a b:", vw},
      {"", {}},
      {"\n\n", {}},
      {"1\n2\n", {}},
      {"a,b,c\n1,2,3\n", {}},
      {"1,2,3\n", {}},
      {"# only a comment\n", {}},
      {std::string("\0\1\2", 3), {}},
  };
  for (const auto& [text, format] : files) EXPECT_EQ(guess_example_format(text), format) << text;
}

TEST(ExampleReader, GuessesTheFormatAndLosesNothing) {
  RandomStream stream(9, "examples");
  for (const auto format : {svmlight, vw}) {
    const Written written = random_text(stream, format, 50);
    for (const unsigned threads : {1U, 2U, 3U}) {
      ExampleReader reader(std::make_unique<Pieces>(written.text, 1000), {}, {.threads = threads});
      EXPECT_EQ(reader.format(), format);
      EXPECT_EQ(read_all(reader).examples, written.examples);
    }
  }
  EXPECT_EQ(read_text("", {}), Outcome{});
  EXPECT_THROW(read_text("a,b\n1,2\n", {}), InvalidArgument);
}

TEST(ExampleReader, NamesTheFile) {
  const ScratchFolder folder;
  const std::string path = (folder / "bad").string();
  std::ofstream(path) << "1 2:3\n1 x\n";
  ExampleReader reader(path, svmlight);
  EXPECT_TRUE(read_all(reader).error.starts_with(fmt::format("'{}', line 2: 'x' is not", path)));
  EXPECT_THROW(ExampleReader((folder / "none").string(), vw), FileError);
}

TEST(ExampleReader, MayWaitForTheFirstBlockWhenItIsClosed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "1 2", 3), 3);
  { const ExampleReader reader(fmt::format("/dev/fd/{}", ends[0]), svmlight, {.threads = 2}); }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace ignd
