#include "core/atomic_file.hpp"

#include "environment.hpp"
#include "ignd/error.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

using testing::contains;
using testing::ScratchFolder;
using Names = std::vector<std::string>;

TEST(FileWriter, GivesTheWholeFileItsNameAtTheEnd) {
  const ScratchFolder folder;
  std::string expected;
  FileWriter writer(folder / ".");
  for (int piece = 0; piece < 100; ++piece) {
    const std::string bytes(static_cast<std::size_t>(piece * 997), static_cast<char>(piece));
    writer.append(bytes);
    expected += bytes;
    EXPECT_TRUE(folder.files().empty());
  }
  writer.commit("file");
  EXPECT_EQ(folder.files(), Names{"file"});
  EXPECT_EQ(read_file(folder / "file"), expected);
  std::string start(10, '\0');
  ASSERT_EQ(::pread(writer.descriptor(), start.data(), start.size(), 0), 10);
  EXPECT_EQ(start, expected.substr(0, 10)) << "it is still open";
}

TEST(FileWriter, ReplacesWhatHasTheName) {
  const ScratchFolder folder;
  for (const std::string content : {"first", "", "second"}) {
    FileWriter writer(folder / ".");
    writer.append(content);
    writer.commit("file");
    EXPECT_EQ(read_file(folder / "file"), content);
    EXPECT_EQ(folder.files(), Names{"file"});
  }
}

TEST(FileWriter, LeavesNothingBehindWithoutCommit) {
  const ScratchFolder folder;
  write_file_atomically(folder / "file", "old");
  FileWriter(folder / ".").append("new");
  EXPECT_EQ(folder.files(), Names{"file"});
  EXPECT_EQ(read_file(folder / "file"), "old");
}

TEST(FileWriter, ReplacesNoFolderAndNoPipe) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const char* name : {"folder", "pipe"}) {
    FileWriter writer(folder / ".");
    EXPECT_THROW(writer.commit(name), FileError);
  }
  EXPECT_EQ(folder.files(), (Names{"folder", "pipe"}));
}

TEST(FileWriter, NeedsItsFolder) {
  const ScratchFolder folder;
  write_file_atomically(folder / "file", "x");
  EXPECT_THROW(FileWriter(folder / "none"), FileError);
  EXPECT_THROW(FileWriter(folder / "file"), FileError);
  FileWriter writer(folder / ".");
  EXPECT_THROW(writer.commit("none/file"), FileError);
  EXPECT_EQ(folder.files(), Names{"file"});
}

TEST(FileWriter, AFullDiskIsAnError) {
  const ScratchFolder folder;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  try {
    FileWriter writer(folder / ".");
    for (int piece = 0; piece < 20; ++piece) writer.append(std::string(100, 'x'));
  } catch (const FileError& fault) {
    message = fault.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(contains(message, "cannot write a file in")) << message;
  EXPECT_TRUE(folder.files().empty());
}

TEST(TemporaryFolder, IsTheOneThatTheUserNames) {
  const testing::Variable named("TMPDIR", "/somewhere");
  EXPECT_EQ(temporary_folder(), "/somewhere");
  for (const std::optional<std::string>& none : {std::optional<std::string>(), std::optional<std::string>("")}) {
    const testing::Variable unnamed("TMPDIR", none);
    EXPECT_EQ(temporary_folder(), "/var/tmp");
  }
}

}  // namespace
}  // namespace ignd
