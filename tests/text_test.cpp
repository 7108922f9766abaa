#include "base/text.hpp"

#include "ignd/random.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

TEST(Printable, KeepsWhatPrintsAndWritesOutWhatDoesNot) {
  EXPECT_EQ(printable("gr\xc3\xbcn"), "gr\xc3\xbcn");
  EXPECT_EQ(printable("\xe2\x82\xac \xf0\x9f\x90\x88"), "\xe2\x82\xac \xf0\x9f\x90\x88");
  EXPECT_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  for (const auto* wrong : {"\xff", "\xc3", "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(printable(wrong).find('\\'), 0U) << "not UTF-8";
  }
  for (const auto* hidden : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6"}) {
    EXPECT_EQ(printable(hidden).find('\\'), 0U) << "ends lines, or turns them round";
  }
}

TEST(Printable, IsCutBetweenCharacters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("ab\xc3\xbc", 3), "ab...");
  EXPECT_EQ(printable("ab\xc3\xbc", 4), "ab\xc3\xbc");
  EXPECT_EQ(printable("", 0), "");
}

// Whatever goes in, what comes out prints as it is.
TEST(Printable, NeedsNoSecondLook) {
  RandomStream stream(1, "bytes");
  const std::vector<std::string> pieces{"a",    "\n",       "\xc3",     "\xbc", "\xe2\x82",
                                        "\xac", "\xf0\x9f", "\x90\x88", "\xff", " "};
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::string text;
    for (std::uint64_t k = stream.below(12); k > 0; --k) text += pieces[stream.below(pieces.size())];
    const std::string once = printable(text);
    EXPECT_EQ(printable(once, once.size()), once);
  }
}

TEST(Split, GivesOnePartMoreThanThereAreSeparators) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,bc,d", ','), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), Parts{""});
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b\r"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \t\r"), "");
  EXPECT_EQ(trim(" a\n"), "a\n");
  EXPECT_EQ(trim(" a\n", " \n"), "a");
}

}  // namespace
}  // namespace ignd
