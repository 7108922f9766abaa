#include "data/text_set.hpp"

#include "csv_writer.hpp"
#include "data/class_files.hpp"
#include "data/table.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "make_archive.hpp"
#include "rank_files.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Texts of tables and folders, with a vocabulary of single bytes: then tokens are bytes.
namespace ignd {
namespace {

using testing::contains;
using testing::csv_row;
using testing::make_archive;
using testing::rank_file;
using testing::ranks_with;
using testing::ScratchFolder;
using testing::write_text;
using Words = std::vector<std::string>;

constexpr std::size_t all_tokens = 1'000'000;

class TextSets : public ::testing::Test {
 protected:
  TextSet read(const std::string& content, const TextColumns& columns, std::size_t most_tokens = all_tokens) const {
    write_text(path_, content);
    return read_text_table({.path = path_, .format = {}, .delimiter = {}, .header = {}}, columns, tokenizer_,
                           most_tokens);
  }
  template <class Fault>
  std::string fault(const std::string& content, const TextColumns& columns) const {
    try {
      read(content, columns);
      return "none";
    } catch (const Fault& found) {
      EXPECT_EQ(std::string(found.what()).find('\n'), std::string::npos) << found.what();
      return found.what();
    }
  }
  std::string text_of(const TextSet& set, std::size_t i) const { return tokenizer_.decode(set.tokens(i)); }

  ScratchFolder folder_;
  std::string path_ = (folder_ / "texts.csv").string();
  Tokenizer tokenizer_{rank_file(ranks_with({}))};
};

const TextColumns both{.text = "review", .target = "liked", .classes = {}};

TEST_F(TextSets, AreWhatATableHolds) {
  const TextSet set = read("id,review,liked\n1,\"good, \"\"very\"\"\ngood\",yes\n2,,no\n3, bad ,no\n", both);
  ASSERT_EQ(set.size(), 3U);
  EXPECT_EQ(set.classes(), (Words{"no", "yes"}));
  EXPECT_EQ(text_of(set, 0), "good, \"very\"\ngood");
  EXPECT_EQ(text_of(set, 1), "");
  EXPECT_EQ(text_of(set, 2), " bad ");
  EXPECT_EQ(set.name(2), "3");
  EXPECT_EQ(set.label(0), 1U);
  EXPECT_EQ(set.label(1), 0U);
  EXPECT_EQ(set.part(0), FilePart::none);
}

TEST_F(TextSets, OfAnyTableAreItsFields) {
  RandomStream stream(11, "tables of texts");
  for (int round = 0; round < 200; ++round) {
    const char delimiter = std::string(",\t;|")[stream.below(4)];
    const bool swapped = stream.below(2) == 0;
    Words texts, labels;
    std::string content =
        swapped ? fmt::format("liked{}review\n", delimiter) : fmt::format("review{}liked\n", delimiter);
    const auto rows = 2 + stream.below(20);
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::string text;
      const auto length = stream.below(stream.below(10) == 0 ? 3000 : 12);
      for (std::uint64_t i = 0; i < length; ++i) text += std::string("ab,;|\t\"\n \r0")[stream.below(11)];
      texts.push_back(text);
      labels.emplace_back(row == 0 || (row > 1 && stream.below(2) == 0) ? "up" : "down");
      content += csv_row(swapped ? Words{labels.back(), text} : Words{text, labels.back()}, delimiter, stream);
      content += stream.below(3) == 0 ? "\r\n" : "\n";
      if (stream.below(5) == 0) content += "\n";
    }
    write_text(path_, content);
    const std::size_t most = stream.below(2) == 0 ? all_tokens : 5;
    const TextSet set = read_text_table(
        {.path = path_, .format = {}, .delimiter = std::string(1, delimiter), .header = "yes"}, both, tokenizer_, most);
    ASSERT_EQ(set.size(), texts.size());
    EXPECT_EQ(set.classes(), (Words{"down", "up"}));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(text_of(set, i), texts[i].substr(texts[i].size() - std::min(texts[i].size(), most)));
      EXPECT_EQ(set.classes()[set.label(i)], labels[i]);
    }
  }
}

TEST_F(TextSets, ClassesOfNumbersAreInTheirOrder) {
  const TextSet set = read("review,liked\na,10\nb,9.0\nc,9\n", both);
  EXPECT_EQ(set.classes(), (Words{"9", "10"}));
  EXPECT_EQ(set.label(0), 1U);
  EXPECT_EQ(set.label(2), 0U);
  const TextSet known = read("review,liked\na, 1e1\n", {.text = "review", .target = "liked", .classes = {"9", "10"}});
  EXPECT_EQ(known.classes(), (Words{"9", "10"}));
  EXPECT_EQ(known.label(0), 1U);
  EXPECT_TRUE(read("review\na\nb\n", {.text = "review", .target = {}, .classes = {}}).classes().empty());
}

// A dataset finds out whether they are classes.
TEST_F(TextSets, MoreThanTwoValuesAreAColumn) {
  const TextSet numbers = read("review,liked\na,1\nb,2.5\nc,-3\n", both);
  EXPECT_TRUE(numbers.classes().empty());
  ASSERT_NE(numbers.target(), nullptr);
  ASSERT_EQ(numbers.target()->size(), 3U);
  EXPECT_EQ(numbers.target()->columns()[0].name, "liked");
  EXPECT_EQ(numbers.target()->columns()[0].kind, ColumnKind::number);
  EXPECT_EQ((*numbers.target())[1][0], 2.5);
  const TextSet others = read("review,liked\na,1\nb,2.5\nc,-4\n", both);
  EXPECT_NE(numbers.checksum(), others.checksum());
  const TextSet texts = read("review,liked\na,x\nb,y\nc,z\n", both);
  EXPECT_EQ(texts.target()->columns()[0].kind, ColumnKind::text);
  EXPECT_EQ(read("review,liked\na,x\nb,y\n", both).target()->size(), 2U);
  const TextColumns known{.text = "review", .target = "liked", .classes = {"x", "y", "z"}};
  const TextSet again = read("review,liked\na,z\n", known);
  EXPECT_EQ(again.label(0), 2U);
  EXPECT_EQ(again.target(), nullptr);
  EXPECT_TRUE(contains(fault<FileError>("review,liked\na,w\n", known), "but the model knows 'x', 'y', 'z'"));
  // A model of numbers refuses texts, and takes a single number.
  const TextColumns wanted{.text = "review", .target = "liked", .classes = {}, .numbers = CellFormat()};
  EXPECT_EQ((*read("review,liked\na,7\n", wanted).target())[0][0], 7);
  EXPECT_TRUE(contains(fault<FileError>("review,liked\na,7\nb,x\n", wanted), "row 2"));
}

TEST_F(TextSets, RefuseOtherTables) {
  const std::string header = "review,liked\n";
  EXPECT_TRUE(
      contains(fault<InvalidArgument>("revue,liked\na,1\n", both), "there is no column 'review', did you mean"));
  EXPECT_TRUE(contains(fault<FileError>(header + "a,1\nb,1\n", both), "is '1' in every row"));
  EXPECT_TRUE(contains(fault<FileError>(header + "a,1\nb,NA\n", both), "row 2: the target 'liked' is missing"));
  EXPECT_TRUE(contains(fault<FileError>(header + "a,1\nb\n", both), "line 3: has 1 field instead of 2"));
  EXPECT_TRUE(contains(fault<FileError>(header + "a,1\n\"b,2\n", both), "line 3: opens quotes"));
  EXPECT_TRUE(contains(fault<FileError>(header, both), "no rows"));
  EXPECT_TRUE(contains(fault<FileError>("", both), "empty"));
  EXPECT_TRUE(contains(fault<FileError>(header + "\"" + std::string(5 << 20, 'x'), both), "longer than 4 MiB"));
  EXPECT_TRUE(contains(fault<FileError>("\xff\xfe\x01", both), "UTF-16"));
  EXPECT_TRUE(contains(fault<FileError>(header + "a,x\n", {.text = "review", .target = "liked", .classes = {"u", "v"}}),
                       "row 1: the target 'liked' is 'x', but the model knows 'u' and 'v'"));
  EXPECT_THROW(read_text_table({.path = path_, .format = "vw", .delimiter = {}, .header = {}}, both, tokenizer_, 1),
               InvalidArgument);
}

TEST_F(TextSets, TakeGarbage) {
  RandomStream stream(12, "garbage");
  for (int i = 0; i < 3000; ++i) {
    std::string content = stream.below(2) == 0 ? "review,liked\n" : "";
    const auto length = stream.below(60);
    for (std::uint64_t j = 0; j < length; ++j) {
      content += stream.below(3) == 0 ? static_cast<char>(stream.below(256)) : std::string("a,1\n\"")[stream.below(5)];
    }
    write_text(path_, content);
    try {
      const TextSet set =
          read_text_table({.path = path_, .format = {}, .delimiter = {}, .header = {}}, both, tokenizer_, all_tokens);
      EXPECT_TRUE(set.classes().size() == 2 || (set.classes().empty() && set.target()->size() > 2));
    } catch (const Error& found) {
      EXPECT_EQ(std::string(found.what()).find('\n'), std::string::npos) << found.what();
    }
  }
}

TEST_F(TextSets, OfFilesLeaveOutWhatIsNoText) {
  make_archive(folder_ / "texts.zip",
               {{"neg/1.txt", "bad"}, {"neg/notes.md", "x"}, {"pos/1.TXT", "good"}, {"pos/2.txt", ""}});
  const TextSet set = read_text_files(folder_ / "texts.zip", tokenizer_, 3);
  ASSERT_EQ(set.size(), 3U);
  EXPECT_EQ(set.name(1), "pos/1.TXT");
  EXPECT_EQ(text_of(set, 1), "ood");
  ASSERT_EQ(set.skipped().size(), 1U);
  EXPECT_EQ(set.skipped()[0].name, "neg/notes.md");
  make_archive(folder_ / "others.zip", {{"neg/1", "bad"}, {"pos/notes.md", "x"}});
  EXPECT_EQ(read_text_files(folder_ / "others.zip", tokenizer_, 3).size(), 2U);
}

TEST(SampleKinds, AreToldByNamesAndByFirstBytes) {
  const ScratchFolder folder;
  const std::string png("\x89PNG\r\n\x1a\n", 8);
  const auto kind = [&](const testing::Members& members) {
    make_archive(folder / "a.zip", members);
    return kind_of_files(folder / "a.zip");
  };
  const auto fault = [&](const testing::Members& members) -> std::string {
    try {
      kind(members);
    } catch (const FileError& found) {
      return found.what();
    }
    return "none";
  };
  EXPECT_EQ(kind({{"a/1.JPG", ""}, {"b/1.jpeg", ""}, {"b/Thumbs.db", "x"}}), SampleKind::images);
  EXPECT_EQ(kind({{"a/1.txt", ""}, {"b/1.txt", ""}, {"b/1.md", ""}}), SampleKind::texts);
  EXPECT_EQ(kind({{"a/1", "x"}, {"b/1", png}}), SampleKind::images);
  EXPECT_TRUE(contains(fault({{"a/1.png", ""}, {"b/1.txt", ""}}), "images and texts, 'a/1.png' and 'b/1.txt'"));
  EXPECT_TRUE(contains(fault({{"a/1.md", ""}, {"b/1", "x"}}), "neither images (JPEG or PNG) nor texts (*.txt)"));
  EXPECT_TRUE(holds_files(folder / "a.zip"));
  EXPECT_TRUE(holds_files(folder / "."));
  EXPECT_TRUE(holds_files("none.tar.gz"));
  EXPECT_FALSE(holds_files("table.csv.gz"));
  EXPECT_FALSE(holds_files("-"));
}

}  // namespace
}  // namespace ignd
