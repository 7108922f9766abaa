#include "data/catalogue.hpp"

#include "data/archive.hpp"
#include "environment.hpp"
#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::make_archive;
using testing::Members;
using testing::ScratchFolder;
using testing::Variable;
using testing::write_text;

template <class Exception, class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Exception& fault) {
    EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    return fault.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Catalogue, EveryEntryIsComplete) {
  std::set<std::string> names;
  const auto is_sha256 = [](const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  for (const DataSet& set : data_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_EQ(&find_data_set(set.name), &set);
    for (const std::string& text : {set.title, set.licence, set.citation, set.verification}) {
      EXPECT_FALSE(text.empty()) << set.name;
    }
    ASSERT_FALSE(set.files.empty()) << set.name;
    EXPECT_FALSE(set.members.empty()) << set.name;
    EXPECT_GT(set.size, 0U) << set.name;
    EXPECT_GE(set.count, set.members.size()) << set.name;
    EXPECT_TRUE(set.url.empty() || set.url.starts_with("https://")) << set.name;
    EXPECT_FALSE(set.checksum.empty() && set.published.empty()) << set.name;
    for (const std::string& sum : {set.checksum, set.published}) {
      EXPECT_TRUE(sum.empty() || is_sha256(sum)) << set.name;
    }
    EXPECT_FALSE(set.verified && set.published.empty()) << set.name << ": verified against what?";
  }
  EXPECT_EQ(names, (std::set<std::string>{"california-housing", "cats-vs-dogs", "cats-vs-dogs-3000", "cl100k-base",
                                          "diamonds", "imdb"}));
  EXPECT_TRUE(std::ranges::is_sorted(data_sets(), {}, &DataSet::name));
}

TEST(Catalogue, TheNearestNameIsOffered) {
  EXPECT_TRUE(contains(message_of<InvalidArgument>([] { find_data_set("diamond"); }), "did you mean 'diamonds'?"));
  EXPECT_TRUE(contains(message_of<InvalidArgument>([] { find_data_set("mnist-784-x"); }), "there are california"));
  message_of<InvalidArgument>([] { find_data_set(""); });
  message_of<InvalidArgument>([] { find_data_set("\n\xff"); });
}

TEST(Catalogue, TheCacheFolderIsWhereTheSystemWantsIt) {
  {
    const Variable cache("XDG_CACHE_HOME", "/c"), home("HOME", "/h");
    EXPECT_EQ(cache_folder(), "/c/ignd");
  }
  for (const char* none : {"", "relative"}) {
    const Variable cache("XDG_CACHE_HOME", none), home("HOME", "/h");
    EXPECT_EQ(cache_folder(), "/h/.cache/ignd");
  }
  const Variable cache("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt), data("IGND_DATA", std::nullopt);
  EXPECT_TRUE(contains(message_of<FileError>([] { cache_folder(); }), "set HOME"));
  EXPECT_TRUE(contains(message_of<FileError>([] { find_data("imdb"); }), "a folder that IGND_DATA names"));
}

// A data set of two members, and folders of its own to look for it.
class Finding : public ::testing::Test {
 protected:
  Finding() {
    fs::create_directories(folder_ / "cache/ignd");
    fs::create_directories(folder_ / "data");
    set_.name = "small";
    set_.files = {"small.zip", "other.zip"};
    set_.url = "https://example.org/small.zip";
    set_.members = {"d/*"};
    set_.count = 2;
    set_.checksum = sha256(sha256("1") + "  d/a\n" + sha256("2") + "  d/b\n");
  }

  fs::path cache(const char* name) const { return folder_ / "cache/ignd" / name; }
  fs::path data(const char* name) const { return folder_ / "data" / name; }
  fs::path place() const { return look_for_data(set_).path; }
  std::string fault() const { return look_for_data(set_).fault; }

  const Members good_{{"d/a", "1"}, {"d/b", "2"}};
  ScratchFolder folder_;
  DataSet set_;

 private:
  Variable cache_{"XDG_CACHE_HOME", (folder_ / "cache").string()};
  Variable data_{"IGND_DATA", (folder_ / "data").string()};
};

TEST_F(Finding, LooksWhereIgndDataSaysAndThenInTheCache) {
  EXPECT_EQ(place(), "");
  EXPECT_EQ(fault(), "");
  make_archive(cache("other.zip"), good_);
  EXPECT_EQ(place(), cache("other.zip"));
  make_archive(cache("small.zip"), good_);
  EXPECT_EQ(place(), cache("small.zip"));
  make_archive(data("other.zip"), good_);
  EXPECT_EQ(place(), data("other.zip"));
  make_archive(data("small.zip"), good_);
  EXPECT_EQ(place(), data("small.zip"));
}

TEST_F(Finding, AFileOfThatNameWithOtherContentsIsNotUsed) {
  make_archive(data("small.zip"), {{"d/a", "1"}});
  EXPECT_TRUE(contains(fault(), "holds 1 of the 2 files")) << fault();
  make_archive(data("small.zip"), {{"d/a", "1"}, {"d/b", "changed"}});
  EXPECT_TRUE(contains(fault(), "has other contents")) << fault();
  make_archive(data("small.zip"), {{"d/a", "1"}, {"d/b", "2"}, {"d/c", "3"}});
  EXPECT_TRUE(contains(fault(), "more than the 2 files")) << fault();
  write_text(data("small.zip"), "<html>");
  EXPECT_TRUE(contains(fault(), "cannot read the archive")) << fault();
  fs::remove(data("small.zip"));
  fs::create_directory(data("small.zip"));
  EXPECT_TRUE(contains(fault(), "is not a file")) << fault();
  make_archive(cache("small.zip"), good_);
  EXPECT_EQ(place(), cache("small.zip")) << "a right one is found behind a wrong one";
}

TEST_F(Finding, ThePublicFileItselfIsAccepted) {
  make_archive(data("small.zip"), {{"anything", "else"}});
  EXPECT_EQ(place(), "");
  set_.published = sha256_of_file(data("small.zip"));
  EXPECT_EQ(place(), data("small.zip"));
  set_.checksum.clear();
  EXPECT_EQ(place(), data("small.zip"));
  make_archive(data("small.zip"), good_);
  EXPECT_EQ(place(), "");
  EXPECT_TRUE(contains(fault(), "is another file")) << fault();
}

TEST_F(Finding, ASmallFileIsReadEveryTime) {
  make_archive(data("small.zip"), good_);
  EXPECT_EQ(place(), data("small.zip"));
  EXPECT_FALSE(fs::exists(cache("small.checked")));
}

// Too large to be read every time.
class FindingLarge : public Finding {
 protected:
  FindingLarge() {
    set_.files = {"large.bin"};
    set_.members = {"large.bin"};
    set_.count = 1;
    set_.checksum = sha256(sha256(content_) + "  large.bin\n");
    write_text(data("large.bin"), content_);
  }

  const std::string content_ = std::string(std::size_t{9} << 20, 'x');
};

TEST_F(FindingLarge, IsReadAgainOnlyOnceItHasChanged) {
  EXPECT_EQ(place(), data("large.bin"));
  ASSERT_TRUE(fs::exists(cache("small.checked")));
  // A stamp that nobody would write again shows that it was believed.
  const auto written = fs::last_write_time(cache("small.checked"));
  EXPECT_EQ(place(), data("large.bin"));
  EXPECT_EQ(fs::last_write_time(cache("small.checked")), written);

  std::string changed = content_;
  changed[5'000'000] = 'y';
  const auto time = fs::last_write_time(data("large.bin"));
  write_text(data("large.bin"), changed);
  fs::last_write_time(data("large.bin"), time);
  EXPECT_EQ(place(), "") << "another content of the same size and with the old time of writing";
  write_text(data("large.bin"), content_);
  EXPECT_EQ(place(), data("large.bin"));
}

TEST_F(FindingLarge, AStampOfAnotherChecksumOrFileIsNotBelieved) {
  EXPECT_EQ(place(), data("large.bin"));
  set_.checksum = sha256("another");
  EXPECT_EQ(place(), "");
  write_text(cache("small.checked"), "garbage\n");
  EXPECT_EQ(place(), "");
  fs::remove(cache("small.checked"));
  fs::create_directory(cache("small.checked"));
  EXPECT_EQ(place(), "");
  set_.checksum = sha256(sha256(content_) + "  large.bin\n");
  EXPECT_EQ(place(), data("large.bin")) << "a stamp that cannot be written is no fault";
}

TEST_F(Finding, WhatIsNotHereComesWithWhatToDo) {
  const std::string message = message_of<FileError>([] { find_data("imdb"); });
  EXPECT_TRUE(contains(message, "run: ignd data fetch imdb"));
  EXPECT_TRUE(contains(message, "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"));
  EXPECT_TRUE(contains(message, "as aclImdb_v1.tar.gz into '" + (folder_ / "cache/ignd").string() + "'"));
  const std::string no_address = message_of<FileError>([] { find_data("cats-vs-dogs-3000"); });
  EXPECT_FALSE(contains(no_address, "ignd data fetch")) << no_address;
  EXPECT_TRUE(contains(no_address, "cats-vs-dogs-3000.zip")) << no_address;
}

TEST_F(Finding, AWrongFileIsNamedInTheMessage) {
  write_text(data("diamonds.csv"), "carat\n1\n");
  const std::string message = message_of<FileError>([] { find_data("diamonds"); });
  EXPECT_TRUE(contains(message, data("diamonds.csv").string() + "' has other contents")) << message;
}

}  // namespace
}  // namespace ignd
