#include "data/image_set.hpp"

#include "data/catalogue.hpp"
#include "environment.hpp"
#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "make_image.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

using testing::contains;
using testing::content_of;
using testing::encode_jpeg;
using testing::encode_png;
using testing::make_archive;
using testing::Members;
using testing::noise_image;
using testing::ScratchFolder;
using testing::smooth_image;
using testing::Variable;
using testing::write_text;
using Names = std::vector<std::string>;

constexpr ImageSize small{6, 5};

void make_folder(const fs::path& path, const Members& members) {
  for (const auto& [name, content] : members) {
    fs::create_directories((path / name).parent_path());
    write_text(path / name, content);
  }
}

Members pets() {
  return {{"pets/dog/b.png", encode_png(noise_image({9, 9}, 1))},
          {"pets/cat/2.jpg", encode_jpeg(smooth_image({20, 30}, 2))},
          {"pets/cat/10.jpg", encode_jpeg(smooth_image({3, 4}, 3))},
          {"pets/dog/a.jpg", encode_png(noise_image({6, 5}, 4))}};  // not what its name says
}

Names names_of(const ImageSet& set) {
  Names names;
  for (std::size_t i = 0; i < set.size(); ++i) names.push_back(set.name(i));
  return names;
}

std::vector<std::uint8_t> planes_of(const Image& image) {
  std::vector<std::uint8_t> planes;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = c; i < image.pixels.size(); i += 3) planes.push_back(image.pixels[i]);
  }
  return planes;
}

std::vector<std::uint8_t> pixels_of(const ImageSet& set, std::size_t image) {
  std::vector<std::uint8_t> pixels(set.image_bytes());
  set.read_pixels(image, pixels);
  return pixels;
}

// Every image is the one of its file, decoded and resized here.
void expect_contents(const ImageSet& set, const Members& members) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto member = std::ranges::find(members, set.name(i), &Members::value_type::first);
    ASSERT_NE(member, members.end()) << set.name(i);
    const Image image = resize(decode_image(member->second, "x"), {set.height(), set.width()});
    EXPECT_TRUE(std::ranges::equal(pixels_of(set, i), planes_of(image))) << set.name(i);
  }
}

class Images : public ::testing::Test {
 protected:
  fs::path path(const char* name) const { return scratch_ / name; }

  ImageSet open(const fs::path& source, ImageSize size = small) {
    decoded_ = 0;
    ImageSetOptions options{.cache = path("cache"), .progress = {}};
    options.progress = [this](std::size_t done, std::size_t) { decoded_ = done; };
    return ImageSet::open(source, size, options);
  }

  // The message with which a source is refused; "" if it is not.
  std::string refusal(const fs::path& source) {
    try {
      open(source);
    } catch (const FileError& fault) {
      EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
      return fault.what();
    }
    return "";
  }

  std::vector<fs::path> cache_files() const {
    std::vector<fs::path> files;
    if (!fs::exists(path("cache"))) return files;
    for (const auto& file : fs::directory_iterator(path("cache"))) files.push_back(file.path());
    return files;
  }

  fs::path cache_file() const {
    const auto files = cache_files();
    EXPECT_EQ(files.size(), 1U);
    return files.at(0);
  }

  std::size_t decoded() const { return decoded_; }

 private:
  ScratchFolder scratch_;
  std::size_t decoded_ = 0;
};

TEST_F(Images, AreThoseOfTheSourceByName) {
  const Members members = pets();
  make_folder(path("folder"), members);
  make_archive(path("a.zip"), members);
  make_archive(path("a.tgz"), members);
  std::vector<std::uint64_t> checksums;
  for (const char* source : {"folder", "a.zip", "a.tgz"}) {
    const ImageSet set = open(path(source));
    EXPECT_EQ(decoded(), 4U);
    EXPECT_EQ(names_of(set), (Names{"pets/cat/10.jpg", "pets/cat/2.jpg", "pets/dog/a.jpg", "pets/dog/b.png"}));
    EXPECT_EQ(set.classes(), (Names{"cat", "dog"}));
    EXPECT_EQ(set.label(1), 0U);
    EXPECT_EQ(set.label(2), 1U);
    EXPECT_EQ(set.part(0), FilePart::none);
    EXPECT_EQ(set.height(), 6U);
    EXPECT_EQ(set.width(), 5U);
    EXPECT_TRUE(set.skipped().empty());
    EXPECT_EQ(set.note(), "");
    expect_contents(set, members);
    checksums.push_back(set.checksum());
  }
  EXPECT_EQ(checksums, std::vector(3, checksums[0])) << "however they are packed";
}

TEST_F(Images, AreDecodedOnce) {
  make_archive(path("a.zip"), pets());
  const std::uint64_t checksum = open(path("a.zip")).checksum();
  EXPECT_EQ(decoded(), 4U);
  const ImageSet again = open(path("a.zip"));
  EXPECT_EQ(decoded(), 0U);
  EXPECT_EQ(again.checksum(), checksum);
  EXPECT_EQ(again.note(), "");
  expect_contents(again, pets());
  EXPECT_EQ(cache_files().size(), 1U);

  open(path("a.zip"), {7, 5});
  EXPECT_EQ(decoded(), 4U) << "another size is another cache";
  EXPECT_EQ(cache_files().size(), 2U);
  open(path("a.zip"));
  EXPECT_EQ(decoded(), 0U);
}

TEST_F(Images, OneSourceHasManyNames) {
  make_archive(path("a.zip"), pets());
  fs::create_directory(path("sub"));
  fs::create_symlink(path("a.zip"), path("link.zip"));
  open(path("a.zip"));
  open(path("sub/../a.zip"));
  EXPECT_EQ(decoded(), 0U);
  open(path("link.zip"));
  EXPECT_EQ(decoded(), 0U);
}

TEST_F(Images, TheChecksumIsOfEverything) {
  const auto checksum = [this](const Members& members, ImageSize size = small) {
    make_archive(path("a.zip"), members);
    fs::last_write_time(path("a.zip"), fs::file_time_type::clock::now() + std::chrono::hours(members.size()));
    fs::remove_all(path("cache"));
    return open(path("a.zip"), size).checksum();
  };
  const std::string one = encode_png(noise_image({6, 5}, 1));
  const std::string two = encode_png(noise_image({6, 5}, 2));
  const std::uint64_t first = checksum({{"a/1", one}, {"b/2", two}});
  EXPECT_EQ(checksum({{"b/2", two}, {"a/1", one}}), first) << "but not of the order in an archive";
  EXPECT_EQ(checksum({{"b/2", two}, {"a/1", one}, {"a/3", "no image"}}), first);
  EXPECT_NE(checksum({{"a/1", two}, {"b/2", one}}), first);
  EXPECT_NE(checksum({{"a/1", one}, {"b/3", two}}), first);
  EXPECT_NE(checksum({{"a/1", one}, {"c/2", two}}), first);
  EXPECT_NE(checksum({{"a/1", one}}), first);
  EXPECT_NE(checksum({{"train/a/1", one}, {"test/b/2", two}}), checksum({{"test/a/1", one}, {"train/b/2", two}}));
  EXPECT_NE(checksum({{"a/1", one}, {"b/2", two}}, {5, 6}), first);
}

TEST_F(Images, MayHavePartsOrNoClasses) {
  const std::string file = encode_png(noise_image({6, 5}, 1));
  make_folder(path("parts"), {{"train/a/1", file}, {"train/b/1", file}, {"test/a/1", file}});
  const ImageSet parts = open(path("parts"));
  EXPECT_EQ(parts.part(0), FilePart::test);
  EXPECT_EQ(parts.part(1), FilePart::train);
  EXPECT_EQ(open(path("parts")).part(1), FilePart::train) << "also from the cache";
  make_folder(path("flat"), {{"1.png", file}, {"2.png", file}});
  EXPECT_TRUE(open(path("flat")).classes().empty());
  EXPECT_EQ(open(path("flat")).label(1), 0U);
  EXPECT_EQ(names_of(open(path("flat/2.png"))), Names{"2.png"});
}

TEST_F(Images, NamesMayBeOdd) {
  const Members members{{"a b/\xe2\x82\xac 1.png", encode_png(noise_image({4, 4}, 1))},
                        {"\xc3\xa9/'\n\"", encode_png(noise_image({4, 4}, 2))}};
  make_folder(path("od d\xc3\xa9"), members);
  EXPECT_EQ(open(path("od d\xc3\xa9")).size(), 2U);
  const ImageSet set = open(path("od d\xc3\xa9"));
  EXPECT_EQ(decoded(), 0U);
  EXPECT_EQ(set.classes(), (Names{"a b", "\xc3\xa9"}));
  expect_contents(set, members);
}

TEST_F(Images, WhatIsNoImageIsSkippedAndNamed) {
  Members members = pets();
  const std::string whole = members[1].second;
  members.emplace_back("pets/cat/broken.jpg", whole.substr(0, whole.size() / 2));
  members.emplace_back("pets/cat/Thumbs.db", "not an image");
  members.emplace_back("pets/dog/empty.jpg", "");
  make_archive(path("a.zip"), members);
  for (const std::size_t expected : {7U, 0U}) {
    const ImageSet set = open(path("a.zip"));
    EXPECT_EQ(decoded(), expected);
    EXPECT_EQ(set.size(), 4U);
    expect_contents(set, members);
    ASSERT_EQ(set.skipped().size(), 3U);
    EXPECT_EQ(set.skipped()[0].name, "pets/cat/Thumbs.db");
    EXPECT_TRUE(contains(set.skipped()[0].fault, "neither JPEG nor PNG"));
    EXPECT_EQ(set.skipped()[1].name, "pets/cat/broken.jpg");
    EXPECT_EQ(set.skipped()[2].name, "pets/dog/empty.jpg");
  }
}

TEST_F(Images, AtLeastOneMustBeReadable) {
  make_folder(path("folder"), {{"a/1.jpg", "x"}, {"b/1.jpg", "y"}});
  EXPECT_TRUE(contains(refusal(path("folder")), "holds no image that can be read: cannot read the image 'a/1.jpg'"));
  EXPECT_TRUE(cache_files().empty());
  EXPECT_TRUE(contains(refusal(path("none")), "No such file"));
  fs::create_directory(path("empty"));
  EXPECT_TRUE(contains(refusal(path("empty")), "CLASS/file"));
  write_text(path("a.zip"), "garbage");
  EXPECT_TRUE(contains(refusal(path("a.zip")), "cannot read the archive"));
  EXPECT_TRUE(cache_files().empty());
}

TEST_F(Images, TheSizeMustBeSensible) {
  make_archive(path("a.zip"), pets());
  for (const ImageSize size : {ImageSize{0, 5}, ImageSize{5, 0}, ImageSize{4097, 5}, ImageSize{5, 1U << 31}}) {
    EXPECT_THROW(open(path("a.zip"), size), InvalidArgument);
  }
}

TEST_F(Images, AChangedSourceIsReadAgain) {
  make_archive(path("a.zip"), pets());
  open(path("a.zip"));
  fs::last_write_time(path("a.zip"), fs::file_time_type::clock::now() + std::chrono::nanoseconds(1'000'000'001));
  open(path("a.zip"));
  EXPECT_EQ(decoded(), 4U) << "another time";
  const auto second = std::chrono::ceil<std::chrono::seconds>(fs::file_time_type::clock::now());
  for (const auto part : {std::chrono::microseconds(1), std::chrono::microseconds(2)}) {
    fs::last_write_time(path("a.zip"), second + part);
    open(path("a.zip"));
    EXPECT_EQ(decoded(), 4U) << "another time within a second";
  }

  make_folder(path("folder"), pets());
  open(path("folder"));
  open(path("folder"));
  EXPECT_EQ(decoded(), 0U);
  make_folder(path("folder"), {{"pets/dog/c.png", encode_png(noise_image({5, 5}, 9))}});
  EXPECT_EQ(open(path("folder")).size(), 5U) << "a file more";
  EXPECT_EQ(decoded(), 5U);
  const auto time = fs::last_write_time(path("folder/pets/dog/c.png"));
  write_text(path("folder/pets/dog/c.png"), encode_png(noise_image({6, 6}, 9)));
  fs::last_write_time(path("folder/pets/dog/c.png"), time);
  open(path("folder"));
  EXPECT_EQ(decoded(), 5U) << "another length";
  fs::rename(path("folder/pets/dog/c.png"), path("folder/pets/dog/d.png"));
  EXPECT_EQ(open(path("folder")).name(4), "pets/dog/d.png");
  fs::remove(path("folder/pets/dog/d.png"));
  EXPECT_EQ(open(path("folder")).size(), 4U);
  EXPECT_EQ(cache_files().size(), 2U) << "the old ones are replaced";
}

TEST_F(Images, ASourceThatChangesMeanwhileIsRefused) {
  make_folder(path("folder"), pets());
  ImageSetOptions options{.cache = path("cache"), .progress = {}};
  options.progress = [this](std::size_t, std::size_t) { write_text(path("folder/pets/cat/2.jpg"), "changed"); };
  EXPECT_THROW(ImageSet::open(path("folder"), small, options), FileError);
  EXPECT_TRUE(cache_files().empty());
}

TEST_F(Images, ADamagedCacheIsMadeAnew) {
  Members members = pets();
  members.emplace_back("pets/cat/Thumbs.db", "not an image");
  make_archive(path("a.zip"), members);
  const std::uint64_t checksum = open(path("a.zip")).checksum();
  const std::string whole = content_of(cache_file());
  const auto expect_repair = [&](const std::string& broken, std::size_t at) {
    write_text(cache_file(), broken);
    const ImageSet set = open(path("a.zip"));
    EXPECT_EQ(decoded(), 5U) << at;
    EXPECT_EQ(set.checksum(), checksum) << at;
    EXPECT_TRUE(contains(set.note(), "could not be used and was rebuilt")) << at;
    EXPECT_EQ(content_of(cache_file()), whole) << at;
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << (at % 8)));
    expect_repair(broken, at);
  }
  for (std::size_t size = 0; size < whole.size(); size += 5) expect_repair(whole.substr(0, size), size);
  expect_repair(whole + std::string(100, '\0'), whole.size());
  expect_repair(whole + whole, whole.size());
  expect_repair("garbage", 0);
}

TEST_F(Images, ACacheOfAnotherSourceIsNotTaken) {
  make_archive(path("a.zip"), pets());
  const ImageSet set = open(path("a.zip"));
  const fs::path first = cache_file();
  make_archive(path("b.zip"), {{"x/1", encode_png(noise_image({5, 5}, 1))}});
  open(path("b.zip"));
  for (const fs::path& file : cache_files()) {
    if (file != first) fs::copy_file(first, file, fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(open(path("b.zip")).size(), 1U);
  EXPECT_EQ(decoded(), 1U);
  expect_contents(set, pets());
}

TEST_F(Images, StayWhenTheCacheIsRemoved) {
  make_archive(path("a.zip"), pets());
  const ImageSet set = open(path("a.zip"));
  fs::remove_all(path("cache"));
  fs::remove(path("a.zip"));
  expect_contents(set, pets());
}

TEST_F(Images, ACacheThatIsChangedMeanwhileIsAnError) {
  make_archive(path("a.zip"), pets());
  const ImageSet set = open(path("a.zip"));
  const std::string whole = content_of(cache_file());
  const auto fault = [&]() -> std::string {
    try {
      for (std::size_t i = 0; i < set.size(); ++i) pixels_of(set, i);
      return "";
    } catch (const FileError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(fault(), "");
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, whole.size() / 3}) {
    fs::resize_file(cache_file(), size);
    EXPECT_TRUE(contains(fault(), "was changed while it was in use")) << fault();
  }
  std::string other = whole;
  other[whole.size() / 4] = static_cast<char>(~other[whole.size() / 4]);
  std::ofstream(cache_file(), std::ios::in | std::ios::binary) << other;  // in place
  EXPECT_TRUE(contains(fault(), "was changed while it was in use")) << fault();
  std::ofstream(cache_file(), std::ios::in | std::ios::binary) << whole;
  EXPECT_EQ(fault(), "");
}

TEST_F(Images, ReadingCanBeStopped) {
  Members members;
  for (int i = 0; i < 300; ++i) {
    members.emplace_back(fmt::format("a/{}.png", i), encode_png(noise_image({4, 4}, static_cast<unsigned>(i))));
  }
  make_archive(path("a.zip"), members);
  std::atomic<bool> stop = true;
  std::size_t seen = 0;
  ImageSetOptions options{.cache = path("cache"), .progress = {}, .stop = &stop};
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(done, ++seen);
    EXPECT_EQ(total, 300U);
    if (done == 3) stop = true;
  };
  EXPECT_THROW(ImageSet::open(path("a.zip"), small, options), Stopped);
  EXPECT_EQ(seen, 0U);
  stop = false;
  EXPECT_THROW(ImageSet::open(path("a.zip"), small, options), Stopped);
  EXPECT_LT(seen, 300U);
  EXPECT_TRUE(cache_files().empty());

  seen = 0;
  stop = false;
  options.progress = [&](std::size_t done, std::size_t) { seen = done; };
  const ImageSet set = ImageSet::open(path("a.zip"), small, options);
  EXPECT_EQ(seen, 300U);
  EXPECT_TRUE(std::ranges::is_sorted(names_of(set)));
  expect_contents(set, members);
}

TEST_F(Images, MayBeOpenedByManyAtOnce) {
  // Not an archive: the thread sanitizer does not see the lock of the time zone that is asked for there.
  make_folder(path("folder"), pets());
  std::vector<std::uint64_t> checksums(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(checksums.size());
    for (std::uint64_t& checksum : checksums) {
      threads.emplace_back([&] {
        checksum = ImageSet::open(path("folder"), small, {.cache = path("cache"), .progress = {}}).checksum();
      });
    }
  }
  EXPECT_EQ(checksums, std::vector(4, checksums[0]));
  EXPECT_EQ(cache_files().size(), 1U);
}

TEST_F(Images, AFullDiskIsAnErrorAndLeavesNothing) {
  make_archive(path("a.zip"), pets());
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{200, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = refusal(path("a.zip"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(contains(message, "cannot write a file in")) << message;
  EXPECT_TRUE(cache_files().empty());
  EXPECT_EQ(refusal(path("a.zip")), "");
}

TEST_F(Images, WhereNothingCanBeKeptAFileWithoutANameDoes) {
  make_archive(path("a.zip"), pets());
  fs::create_directory(path("temporary"));
  const Variable temporary("TMPDIR", path("temporary").string());
  write_text(path("cache"), "in the way");
  const ImageSet set = open(path("a.zip"));
  EXPECT_TRUE(contains(set.note(), "the decoded images are not cached: cannot create")) << set.note();
  EXPECT_EQ(set.note().find('\n'), std::string::npos);
  expect_contents(set, pets());
  EXPECT_TRUE(fs::is_empty(path("temporary")));
  open(path("a.zip"));
  EXPECT_EQ(decoded(), 4U);

  const Variable nowhere("TMPDIR", path("nowhere").string());
  EXPECT_TRUE(contains(refusal(path("a.zip")), "cannot create a file in"));
}

TEST_F(Images, AreKeptInTheCacheFolder) {
  make_archive(path("a.zip"), pets());
  const Variable cache("XDG_CACHE_HOME", path("xdg").string());
  EXPECT_EQ(ImageSet::open(path("a.zip")).height(), 224U);
  EXPECT_FALSE(fs::is_empty(path("xdg/ignd/images")));
  const Variable no_cache("XDG_CACHE_HOME", {});
  const Variable no_home("HOME", {});
  EXPECT_TRUE(contains(ImageSet::open(path("a.zip")).note(), "are not cached"));
}

TEST_F(Images, TheRealPhotographs) {
  const char* folder = std::getenv("IGND_DATA");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
  const Variable cache("XDG_CACHE_HOME", path("xdg").string());
  const DataPlace place = look_for_data(find_data_set("cats-vs-dogs-3000"));
  if (place.path.empty()) GTEST_SKIP() << "cats-vs-dogs-3000 is not in IGND_DATA";
  const auto seconds = [](auto work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double decoding = seconds([&] { ImageSet::open(place.path); });
  const double opening = seconds([&] { ImageSet::open(place.path); });
  const ImageSet set = ImageSet::open(place.path);
  fmt::print("decoded {} images in {:.2f} s, opened them again in {:.3f} s\n", set.size(), decoding, opening);
  EXPECT_EQ(set.size(), 3000U);
  EXPECT_TRUE(set.skipped().empty());
  EXPECT_EQ(set.classes(), (Names{"Cat", "Dog"}));
  std::size_t dogs = 0;
  for (std::size_t i = 0; i < set.size(); ++i) dogs += set.label(i);
  EXPECT_NEAR(static_cast<double>(dogs), 1500, 50);
  EXPECT_EQ(pixels_of(set, 0).size(), 150'528U);
}

}  // namespace
}  // namespace ignd
