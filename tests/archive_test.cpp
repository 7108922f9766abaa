#include "data/archive.hpp"

#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <random>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;
using testing::content_of;
using testing::make_archive;
using testing::Members;
using testing::ScratchFolder;
using testing::write_text;

Members read(const std::filesystem::path& path, const ArchiveLimits& limits = {}) {
  Members members;
  visit_members(
      path, path.filename().string(), [](std::string_view) { return true; },
      [&](const std::string& name, std::string_view content) { members.emplace_back(name, content); }, limits);
  return members;
}

// The message with which a file is refused; "" if it is not.
std::string refusal(const std::filesystem::path& path, const ArchiveLimits& limits = {}) {
  try {
    read(path, limits);
  } catch (const FileError& fault) {
    EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    return fault.what();
  }
  return "";
}

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

const std::vector<const char*> kinds{"a.tar.gz", "a.tgz", "a.zip"};

TEST(Archive, GivesNamesAndContentsInTheirOrder) {
  const ScratchFolder folder;
  const Members members{{"b/two.txt", "2"}, {"a/one.bin", noise(300'000, 1)}, {"empty", ""}, {"c d/\xc3\xa9", "x"}};
  for (const char* kind : kinds) {
    make_archive(folder / kind, members);
    EXPECT_EQ(read(folder / kind), members) << kind;
  }
}

TEST(Archive, FoldersAreNoMembersAndADotInFrontIsNoPartOfAName) {
  const ScratchFolder folder;
  for (const char* kind : kinds) {
    make_archive(folder / kind, {{"./", ""}, {"./a/", ""}, {"./a/b", "1"}});
    EXPECT_EQ(read(folder / kind), (Members{{"a/b", "1"}})) << kind;
  }
}

TEST(Archive, ALinkIsNoMember) {
  const ScratchFolder folder;
  ASSERT_EQ(testing::run_shell("cd '" + (folder / ".").string() +
                               "' && echo 1 > a && ln -s a b && ln a c && tar czf x.tgz a b c")
                .exit_code,
            0);
  EXPECT_EQ(read(folder / "x.tgz"), (Members{{"a", "1\n"}}));
}

TEST(Archive, OnlyWhatIsWantedIsVisited) {
  const ScratchFolder folder;
  for (const char* kind : kinds) {
    make_archive(folder / kind, {{"a", "1"}, {"b", noise(1'000'000, 2)}, {"c", "3"}});
    Members members;
    visit_members(
        folder / kind, kind, [](std::string_view name) { return name != "b"; },
        [&](const std::string& name, std::string_view content) { members.emplace_back(name, content); });
    EXPECT_EQ(members, (Members{{"a", "1"}, {"c", "3"}})) << kind;
  }
}

TEST(Archive, AnyOtherFileIsOneMember) {
  const ScratchFolder folder;
  write_text(folder / "x.csv", "1,2\n");
  EXPECT_EQ(read(folder / "x.csv"), (Members{{"x.csv", "1,2\n"}}));
  ArchiveLimits limits;
  limits.member = 4;
  EXPECT_EQ(refusal(folder / "x.csv", limits), "");
  limits.member = 3;
  EXPECT_TRUE(contains(refusal(folder / "x.csv", limits), "is larger than 3 bytes"));
}

TEST(Archive, TheKindIsThatOfTheNameThatIsGiven) {
  const ScratchFolder folder;
  make_archive(folder / "a.zip", {{"b", "1"}});
  std::filesystem::rename(folder / "a.zip", folder / "a.zip.part");
  std::size_t count = 0;
  visit_members(
      folder / "a.zip.part", "a.zip", [](std::string_view name) { return name == "b"; },
      [&](const std::string&, std::string_view) { ++count; });
  EXPECT_EQ(count, 1U);
}

TEST(Archive, ANameThatLeadsOutIsRefusedEvenWhereNobodyWantsIt) {
  const ScratchFolder folder;
  for (const char* kind : kinds) {
    for (const char* name : {"../x", "a/../../x", "/etc/passwd", "a/..", "..", "./../x", "a\\..\\x"}) {
      make_archive(folder / kind, {{"good", "1"}, {name, "2"}});
      const auto visit = [&] {
        visit_members(
            folder / kind, kind, [](std::string_view wanted) { return wanted == "good"; },
            [](const std::string&, std::string_view) {});
      };
      EXPECT_THROW(visit(), FileError) << kind << " " << name;
      EXPECT_TRUE(contains(refusal(folder / kind), "leads outside the archive")) << kind << " " << name;
    }
    make_archive(folder / kind, {{"..a", "1"}, {"b../c", "2"}, {"...", "3"}});
    EXPECT_EQ(read(folder / kind).size(), 3U) << "dots alone are no harm";
  }
}

TEST(Archive, WhatIsTooLargeIsRefused) {
  const ScratchFolder folder;
  ArchiveLimits limits{.member = 1000, .total = 2500, .count = 4};
  for (const char* kind : kinds) {
    make_archive(folder / kind, {{"a", std::string(1000, 'x')}, {"b", std::string(1000, 'x')}, {"c", ""}, {"d", ""}});
    EXPECT_EQ(refusal(folder / kind, limits), "") << kind;
    make_archive(folder / kind, {{"a", std::string(1001, 'x')}});
    EXPECT_TRUE(contains(refusal(folder / kind, limits), "'a' is larger than 1000 bytes")) << kind;
    make_archive(folder / kind,
                 {{"a", std::string(1000, 'x')}, {"b", std::string(1000, 'x')}, {"c", std::string(501, 'x')}});
    EXPECT_TRUE(contains(refusal(folder / kind, limits), "it holds more than 2500 bytes")) << kind;
    make_archive(folder / kind, {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}});
    EXPECT_TRUE(contains(refusal(folder / kind, limits), "it has more than 4 members")) << kind;
  }
}

TEST(Archive, AHoleIsNotFilledBeyondTheLimit) {
  const ScratchFolder folder;
  // A sparse file of 8 GiB whose archive is some hundred bytes.
  ASSERT_EQ(testing::run_shell("cd '" + (folder / ".").string() +
                               "' && truncate -s 8G a && echo 1 >> a && tar cSzf x.tgz a && rm a")
                .exit_code,
            0);
  EXPECT_TRUE(contains(refusal(folder / "x.tgz"), "is larger than"));
}

TEST(Archive, AZipThatLiesAboutItsSizesIsRefused) {
  const ScratchFolder folder;
  make_archive(folder / "a.zip", {{"a", std::string(100'000, 'x')}});
  const std::string whole = content_of(folder / "a.zip");
  // 100,000 as it stands in the local header, the descriptor and the directory; the content is then longer than it
  // says.
  const std::string size("\xa0\x86\x01\x00", 4);
  const std::string lie("\x10\x00\x00\x00", 4);
  std::string broken = whole;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = broken.find(size, at)) != std::string::npos; ++count) broken.replace(at, 4, lie);
  ASSERT_GT(count, 0U);
  write_text(folder / "a.zip", broken);
  const ArchiveLimits limits{.member = 50'000};
  EXPECT_NE(refusal(folder / "a.zip", limits), "");
}

TEST(Archive, AnArchiveThatIsCutOffNeverLacksAMemberInSilence) {
  const ScratchFolder folder;
  const Members members{{"a", noise(3000, 3)}, {"b", noise(10, 4)}, {"c", noise(2000, 5)}};
  for (const char* kind : kinds) {
    make_archive(folder / kind, members);
    const std::string whole = content_of(folder / kind);
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      write_text(folder / kind, whole.substr(0, size));
      try {
        EXPECT_EQ(read(folder / kind), members) << kind << " of " << size << " bytes";
      } catch (const FileError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, whole.size() / 7 * 9 / 10) << kind;
  }
}

// Noise cannot be packed: but for the ends of it, it stands in an archive as it is.
TEST(Archive, AMemberWithAChangedByteIsRefused) {
  const ScratchFolder folder;
  const std::string content = noise(200'000, 8), middle = content.substr(100'000, 1000);
  for (const char* kind : kinds) {
    make_archive(folder / kind, {{"a", "text"}, {"b", content}, {"c", "text"}});
    const std::string whole = content_of(folder / kind);
    const std::size_t begin = whole.find(middle);
    ASSERT_NE(begin, std::string::npos) << kind;
    for (std::size_t at = begin; at < begin + middle.size(); at += 50) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 4);
      write_text(folder / kind, broken);
      EXPECT_TRUE(contains(refusal(folder / kind), "cannot read the archive")) << kind << " at " << at;
    }
  }
}

// As long as it says, but packed in fewer bytes than it says.
TEST(Archive, AMemberWithTheContentOfAnotherIsRefused) {
  const ScratchFolder folder;
  constexpr std::size_t local_header = 30;
  make_archive(folder / "a.zip", {{"a", noise(3000, 9)}});
  make_archive(folder / "b.zip", {{"a", std::string(3000, 'x')}});
  std::string broken = content_of(folder / "a.zip");
  const std::string other = content_of(folder / "b.zip");
  const std::size_t end = other.find("PK", local_header);
  ASSERT_LT(end, broken.size());
  broken.replace(local_header, end - local_header, other, local_header, end - local_header);
  write_text(folder / "a.zip", broken);
  EXPECT_NE(refusal(folder / "a.zip"), "");
}

TEST(Archive, WhatFollowsTheLastMemberIsLimitedToo) {
  const ScratchFolder folder;
  make_archive(folder / "a.tgz", {{"a", "text"}});
  ASSERT_EQ(testing::run_shell("cd '" + (folder / ".").string() +
                               "' && head -c 100000 /dev/zero | gzip | cat a.tgz - > long.tgz")
                .exit_code,
            0);
  EXPECT_EQ(read(folder / "long.tgz"), (Members{{"a", "text"}})) << "zeros are no harm";
  EXPECT_TRUE(contains(refusal(folder / "long.tgz", {.total = 50'000}), "it holds more than 50000 bytes"));
}

TEST(Archive, GarbageIsRefusedOrReadAndNothingElse) {
  const ScratchFolder folder;
  std::mt19937 random(6);
  for (const char* kind : kinds) {
    make_archive(folder / kind, {{"a", noise(500, 7)}, {"b/c", "text"}});
    const std::string whole = content_of(folder / kind);
    for (int round = 0; round < 1000; ++round) {
      std::string broken = whole;
      for (int change = 0; change < 3; ++change) broken[random() % broken.size()] = static_cast<char>(random());
      write_text(folder / kind, broken);
      refusal(folder / kind);
    }
    for (unsigned seed = 0; seed < 100; ++seed) {
      write_text(folder / kind, noise(std::size_t{17} * seed, seed));
      EXPECT_NE(refusal(folder / kind), "") << kind << " " << seed;
    }
    write_text(folder / kind, "<html>Not found</html>");
    EXPECT_TRUE(contains(refusal(folder / kind), "cannot read the archive")) << refusal(folder / kind);
  }
}

TEST(Archive, WhatIsNoFileIsRefused) {
  const ScratchFolder folder;
  EXPECT_TRUE(contains(refusal(folder / "none.zip"), "cannot be opened: No such file")) << refusal(folder / "none.zip");
  EXPECT_TRUE(contains(refusal(folder / "none.csv"), "cannot be opened: No such file"));
  std::filesystem::create_directory(folder / "folder.zip");
  EXPECT_TRUE(contains(refusal(folder / "folder.zip"), "is not a file"));
  EXPECT_TRUE(contains(refusal("/dev/zero"), "is not a file"));
}

TEST(Checksum, IsTheOneThatEverybodyComputes) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const ScratchFolder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 18, (std::size_t{1} << 19) + 3}) {
    const std::string content = noise(size, 8);
    write_text(folder / "x", content);
    EXPECT_EQ(sha256_of_file(folder / "x"), sha256(content)) << size;
  }
  EXPECT_THROW(sha256_of_file(folder / "none"), FileError);
  EXPECT_THROW(sha256_of_file(folder / "."), FileError);
}

TEST(Checksum, APatternMatchesWithinAFolder) {
  EXPECT_TRUE(matches("a/b.txt", "a/*.txt"));
  EXPECT_TRUE(matches("a/.txt", "a/*.txt"));
  EXPECT_FALSE(matches("a/c/b.txt", "a/*.txt"));
  EXPECT_FALSE(matches("a/b.txt.gz", "a/*.txt"));
  EXPECT_FALSE(matches("x/a/b.txt", "a/*.txt"));
}

TEST(Checksum, OfMembersDoesNotDependOnThePacking) {
  const ScratchFolder folder;
  const Members members{{"d/b.txt", "2"}, {"d/a.txt", "1"}, {"other", "3"}};
  const Members others{{"d/", ""}, {"./d/a.txt", "1"}, {"./d/b.txt", "2"}, {"d/c/d.txt", "4"}};
  const std::string expected = sha256(sha256("1") + "  d/a.txt\n" + sha256("2") + "  d/b.txt\n");
  for (const char* kind : kinds) {
    for (const Members& content : {members, others}) {
      make_archive(folder / kind, content);
      const MemberChecksum sum = member_checksum(folder / kind, kind, {"d/*.txt"}, 2);
      EXPECT_EQ(sum.checksum, expected) << kind;
      EXPECT_EQ(sum.count, 2U);
      EXPECT_THROW(member_checksum(folder / kind, kind, {"d/*.txt"}, 1), FileError);
    }
    make_archive(folder / kind, {{"d/a.txt", "1"}, {"./d/a.txt", "2"}});
    EXPECT_THROW(member_checksum(folder / kind, kind, {"d/*.txt"}, 5), FileError) << "one name twice";
    for (const Members& content :
         {Members{{"d/a.txt", "1"}, {"d/b.txt", "3"}}, Members{{"d/a.txt", "2"}, {"d/b.txt", "1"}},
          Members{{"d/a.txt", "1"}, {"d/c.txt", "2"}}, Members{{"d/a.txt", "1"}}}) {
      make_archive(folder / kind, content);
      EXPECT_NE(member_checksum(folder / kind, kind, {"d/*.txt"}, 5).checksum, expected);
    }
  }
}

}  // namespace
}  // namespace ignd
