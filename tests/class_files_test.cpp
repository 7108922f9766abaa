#include "data/class_files.hpp"

#include "data/catalogue.hpp"
#include "environment.hpp"
#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

using testing::contains;
using testing::make_archive;
using testing::Members;
using testing::ScratchFolder;
using testing::write_text;
using Names = std::vector<std::string>;

const std::vector<const char*> archives{"a.zip", "a.tar.gz", "a.tgz"};

void make_folder(const fs::path& path, const Members& members) {
  fs::remove_all(path);
  fs::create_directories(path);
  for (const auto& [name, content] : members) {
    fs::create_directories((path / name).parent_path());
    if (!name.ends_with('/')) write_text(path / name, content);
  }
}

Members with_names_as_contents(const Names& names) {
  Members members;
  for (const std::string& name : names) members.emplace_back(name, "<" + name + ">");
  return members;
}

// One line per file: part, class, name.
Names lines_of(const ClassFiles& found) {
  const std::vector<std::string> parts{"", "train ", "test "};
  Names lines;
  for (const ClassFile& file : found.files) {
    const std::string name = found.classes.empty() ? "-" : found.classes[file.label];
    lines.push_back(parts[static_cast<std::size_t>(file.part)] + name + " " + file.name);
  }
  return lines;
}

// What is found in a folder with these files, after making sure that it is the same in archives.
ClassFiles found_in(const Names& names) {
  const ScratchFolder scratch;
  const Members members = with_names_as_contents(names);
  make_folder(scratch / "folder", members);
  ClassFiles found = list_class_files(scratch / "folder");
  for (const char* archive : archives) {
    make_archive(scratch / archive, members);
    const ClassFiles packed = list_class_files(scratch / archive);
    EXPECT_EQ(packed.classes, found.classes) << archive;
    EXPECT_EQ(lines_of(packed), lines_of(found)) << archive;
  }
  for (const char* source : {"folder", "a.zip", "a.tar.gz"}) {
    std::map<std::size_t, std::string> contents;
    visit_class_files(scratch / source, found, [&](std::size_t file, std::string_view content) {
      EXPECT_TRUE(contents.emplace(file, content).second) << "visited once";
    });
    EXPECT_EQ(contents.size(), found.files.size());
    for (const auto& [file, content] : contents) EXPECT_EQ(content, "<" + found.files[file].name + ">");
  }
  return found;
}

std::string refusal(const fs::path& source) {
  try {
    list_class_files(source);
  } catch (const FileError& fault) {
    EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    return fault.what();
  }
  return "";
}

TEST(ClassFiles, AFolderIsAClass) {
  const ClassFiles found = found_in({"dog/2", "cat/10", "cat/1", "dog/1", "Bird/x"});
  EXPECT_EQ(found.classes, (Names{"Bird", "cat", "dog"}));
  EXPECT_EQ(lines_of(found), (Names{"Bird Bird/x", "cat cat/1", "cat cat/10", "dog dog/1", "dog dog/2"}));
}

TEST(ClassFiles, OneFolderMayLieAroundTheClasses) {
  EXPECT_EQ(lines_of(found_in({"PetImages/Cat/1.jpg", "PetImages/Dog/1.jpg"})),
            (Names{"Cat PetImages/Cat/1.jpg", "Dog PetImages/Dog/1.jpg"}));
  EXPECT_EQ(lines_of(found_in({"readme.txt", "PetImages/Cat/1.jpg", "PetImages/list", "PetImages/Dog/1.jpg"})),
            (Names{"Cat PetImages/Cat/1.jpg", "Dog PetImages/Dog/1.jpg"}))
      << "what lies beside them is ignored";
}

TEST(ClassFiles, PartsAreKnownByName) {
  const ClassFiles found = found_in({"train/neg/1", "train/pos/1", "test/neg/1", "test/pos/1", "val/pos/1"});
  EXPECT_EQ(found.classes, (Names{"neg", "pos"}));
  EXPECT_EQ(lines_of(found),
            (Names{"test neg test/neg/1", "test pos test/pos/1", "train neg train/neg/1", "train pos train/pos/1"}));
  EXPECT_EQ(lines_of(found_in({"train/neg/1", "train/pos/1"})),
            (Names{"train neg train/neg/1", "train pos train/pos/1"}))
      << "also where there is one alone";
}

TEST(ClassFiles, TheReviewsLieAsTheyArePublished) {
  EXPECT_EQ(
      lines_of(found_in({"aclImdb/README", "aclImdb/imdb.vocab", "aclImdb/train/urls_neg.txt",
                         "aclImdb/train/neg/0_3.txt", "aclImdb/train/pos/0_9.txt", "aclImdb/train/unsup/0_0.txt",
                         "aclImdb/test/neg/0_2.txt", "aclImdb/test/pos/0_10.txt", "aclImdb/test/labeledBow.feat"})),
      (Names{"test neg aclImdb/test/neg/0_2.txt", "test pos aclImdb/test/pos/0_10.txt",
             "train neg aclImdb/train/neg/0_3.txt", "train pos aclImdb/train/pos/0_9.txt"}));
}

TEST(ClassFiles, AClassMayHaveTheNameOfAPart) {
  EXPECT_EQ(lines_of(found_in({"train/1.jpg", "bus/1.jpg"})), (Names{"bus bus/1.jpg", "train train/1.jpg"}));
  EXPECT_EQ(lines_of(found_in({"unsup/1", "other/1"})), (Names{"other other/1", "unsup unsup/1"}));
}

TEST(ClassFiles, WhatIsHiddenOrDeeperIsIgnored) {
  EXPECT_EQ(lines_of(found_in(
                {"cat/1", "cat/.1", ".git/1", "cat/more/2", "dog/1", "dog/a/b/c/d/e", "dog/.x/1", "__MACOSX/cat/._1"})),
            (Names{"cat cat/1", "dog dog/1"}));
}

TEST(ClassFiles, NamesMayBeOdd) {
  const Names names{"a b/c d", "\xc3\xa9/\xe2\x82\xac.jpg", "x'\"$\n/%s{}", "~/*"};
  const ClassFiles found = found_in(names);
  EXPECT_EQ(found.classes, (Names{"a b", "x'\"$\n", "~", "\xc3\xa9"}));
  EXPECT_EQ(found.files.size(), 4U);
}

TEST(ClassFiles, WithoutFoldersThereAreNoClasses) {
  const ClassFiles found = found_in({"2.jpg", "1.jpg", ".hidden"});
  EXPECT_TRUE(found.classes.empty());
  EXPECT_EQ(lines_of(found), (Names{"- 1.jpg", "- 2.jpg"}));
}

TEST(ClassFiles, AnyOtherFileIsOneFile) {
  const ScratchFolder scratch;
  write_text(scratch / "one.jpg", "content");
  const ClassFiles found = list_class_files(scratch / "one.jpg");
  EXPECT_EQ(lines_of(found), Names{"- one.jpg"});
  std::string seen;
  visit_class_files(scratch / "one.jpg", found, [&](std::size_t, std::string_view content) { seen = content; });
  EXPECT_EQ(seen, "content");
}

TEST(ClassFiles, NothingIsRefused) {
  const ScratchFolder scratch;
  make_folder(scratch / "empty", {});
  make_folder(scratch / "folders", {{"cat/", ""}, {"dog/", ""}});
  make_folder(scratch / "deep", {{"a/b/c/d/e", "1"}, {"f/g/h/i/j", "1"}});
  for (const char* source : {"empty", "folders", "deep"}) {
    EXPECT_TRUE(contains(refusal(scratch / source), "CLASS/file")) << refusal(scratch / source);
  }
  EXPECT_TRUE(contains(refusal(scratch / "none"), "No such file"));
  write_text(scratch / "broken.zip", "not an archive");
  EXPECT_TRUE(contains(refusal(scratch / "broken.zip"), "cannot read the archive"));
  EXPECT_NE(refusal("/dev/zero"), "");
}

TEST(ClassFiles, OneNameTwiceIsRefused) {
  const ScratchFolder scratch;
  for (const char* archive : archives) {
    make_archive(scratch / archive, {{"a/1", "x"}, {"b/1", "x"}, {"./a/1", "y"}});
    EXPECT_TRUE(contains(refusal(scratch / archive), "holds 'a/1' twice")) << refusal(scratch / archive);
  }
}

TEST(ClassFiles, LinksAreFollowedAndCirclesEnd) {
  const ScratchFolder scratch;
  make_folder(scratch / "data", {{"cat/1", "x"}, {"elsewhere/2", "y"}});
  fs::create_directory(scratch / "links");
  fs::create_directory_symlink(scratch / "data/cat", scratch / "links/cat");
  fs::create_directory(scratch / "links/dog");
  fs::create_symlink(scratch / "data/elsewhere/2", scratch / "links/dog/2");
  fs::create_symlink(scratch / "nothing", scratch / "links/dog/3");
  fs::create_directory_symlink(scratch / "links", scratch / "links/dog/circle");
  EXPECT_EQ(lines_of(list_class_files(scratch / "links")), (Names{"cat cat/1", "dog dog/2"}));
}

TEST(ClassFiles, WhatIsNoFileIsIgnored) {
  const ScratchFolder scratch;
  make_folder(scratch / "data", {{"cat/1", "x"}, {"dog/1", "x"}});
  ASSERT_EQ(::mkfifo((scratch / "data/cat/pipe").c_str(), 0600), 0);
  EXPECT_EQ(list_class_files(scratch / "data").files.size(), 2U);
}

TEST(ClassFiles, ASourceThatChangesIsRefused) {
  const ScratchFolder scratch;
  const auto ignore = [](std::size_t, std::string_view) {};
  make_folder(scratch / "data", {{"cat/1", "x"}, {"dog/1", "x"}});
  const ClassFiles found = list_class_files(scratch / "data");
  fs::remove(scratch / "data/dog/1");
  EXPECT_THROW(visit_class_files(scratch / "data", found, ignore), FileError);
  make_archive(scratch / "a.zip", {{"cat/1", "x"}});
  EXPECT_THROW(visit_class_files(scratch / "a.zip", found, ignore), FileError);
}

// Another user, who may not read everything, as long as it lives; root may.
class Nobody {
 public:
  Nobody() {
    if (::geteuid() == 0) changed_ = ::seteuid(65534) == 0;
  }
  ~Nobody() {
    if (changed_ && ::seteuid(0) != 0) std::abort();
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
  Nobody(Nobody&&) = delete;
  Nobody& operator=(Nobody&&) = delete;

 private:
  bool changed_ = false;
};

TEST(ClassFiles, WhatMayNotBeReadIsRefused) {
  const ScratchFolder scratch;
  make_folder(scratch / "data", {{"cat/1", "x"}, {"dog/1", "x"}});
  fs::permissions(scratch / ".", fs::perms(0755));
  fs::permissions(scratch / "data/dog/1", fs::perms::none);
  const ClassFiles found = list_class_files(scratch / "data");
  std::string message;
  {
    const Nobody nobody;
    try {
      visit_class_files(scratch / "data", found, [](std::size_t, std::string_view) {});
    } catch (const FileError& fault) {
      message = fault.what();
    }
  }
  EXPECT_TRUE(contains(message, "dog/1': Permission denied")) << message;
  fs::permissions(scratch / "data/dog", fs::perms::none);
  {
    const Nobody nobody;
    message = refusal(scratch / "data");
  }
  EXPECT_TRUE(contains(message, "cannot be listed: Permission denied")) << message;
  fs::permissions(scratch / "data/dog", fs::perms::owner_all);
}

TEST(ClassFiles, AnyTreeIsListedInOrderOrRefused) {
  std::mt19937 random(1);
  const Names folders{"train", "test", "a", "b", "unsup", ".h", "c c"};
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, bool> names;
    for (std::size_t file = random() % 6; file < 7; ++file) {
      std::string name;
      for (std::size_t depth = random() % 5; depth > 0; --depth) name += folders[random() % folders.size()] + "/";
      names.emplace(name + std::to_string(random() % 3), true);
    }
    const ScratchFolder scratch;
    Members members;
    for (const auto& [name, there] : names) members.emplace_back(name, "x");
    make_archive(scratch / "a.zip", members);
    try {
      const ClassFiles found = list_class_files(scratch / "a.zip");
      EXPECT_FALSE(found.files.empty());
      EXPECT_TRUE(std::ranges::is_sorted(found.classes));
      EXPECT_TRUE(std::ranges::is_sorted(found.files, {}, &ClassFile::name));
      for (const ClassFile& file : found.files) {
        EXPECT_TRUE(names.contains(file.name));
        if (found.classes.empty()) continue;
        ASSERT_LT(file.label, found.classes.size());
        const std::string folder = fs::path(file.name).parent_path().filename().string();
        EXPECT_EQ(folder, found.classes[file.label]);
      }
    } catch (const FileError& fault) {
      EXPECT_TRUE(contains(fault.what(), "CLASS/file")) << fault.what();
    }
  }
}

TEST(ClassFiles, TheRealReviews) {
  const char* folder = std::getenv("IGND_DATA");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
  const ScratchFolder scratch;
  const testing::Variable cache("XDG_CACHE_HOME", (scratch / ".").string());
  const DataPlace place = look_for_data(find_data_set("imdb"));
  if (place.path.empty()) GTEST_SKIP() << "imdb is not in IGND_DATA";
  const ClassFiles found = list_class_files(place.path);
  EXPECT_EQ(found.classes, (Names{"neg", "pos"}));
  std::map<std::pair<FilePart, std::size_t>, std::size_t> counts;
  for (const ClassFile& file : found.files) ++counts[{file.part, file.label}];
  for (const FilePart part : {FilePart::train, FilePart::test}) {
    for (const std::size_t label : {0U, 1U}) EXPECT_EQ((counts[{part, label}]), 12'500U);
  }
  EXPECT_EQ(found.files.size(), 50'000U);
}

}  // namespace
}  // namespace ignd
