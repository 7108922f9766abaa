#include "base/atomic_file.hpp"

#include "environment.hpp"
#include "ignd/error.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

// A new process in a namespace of process numbers that is its own, where it has the number 1: as in a container.
// Without /proc a file cannot get a name later, and needs a temporary one from the start. Returns the number that the
// process has here; it runs `work` and ends with 0 if that returns "".
pid_t start_container(bool with_proc, const std::function<std::string()>& work) {
  const pid_t outer = ::fork();
  if (outer != 0) return outer;
  const int own = CLONE_NEWPID | CLONE_NEWNS;
  if (::unshare(own) != 0 && ::unshare(CLONE_NEWUSER | own) != 0) ::_exit(1);
  const bool hidden = with_proc || (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                                    ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0);
  if (!hidden) ::_exit(1);
  const pid_t inner = ::fork();
  if (inner == 0) {
    const std::string fault = ::getpid() == 1 ? work() : "it has not the number 1";
    if (!fault.empty()) std::fprintf(stderr, "%s\n", fault.c_str());
    ::_exit(fault.empty() ? 0 : 1);
  }
  int status = 0;
  ::_exit(inner > 0 && ::waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
}

int exit_code_of(pid_t process) {
  int status = 0;
  return ::waitpid(process, &status, 0) == process && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Two writers of one file with the same process number, and a reader that must never see anything but one of their
// contents.
void write_in_two_containers(bool with_proc) {
  if (exit_code_of(start_container(with_proc, [] { return std::string(); })) != 0) {
    GTEST_SKIP() << "no namespaces can be made here: unshare() or mount() is not allowed";
  }
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "file";
  constexpr std::size_t size = 200'000;
  write_file_atomically(path, std::string(size, 'a'));
  std::vector<pid_t> writers;
  for (const char letter : {'a', 'b'}) {
    writers.push_back(start_container(with_proc, [&path, letter]() -> std::string {
      try {
        const std::string content(size, letter);
        for (int i = 0; i < 300; ++i) write_file_atomically(path, content);
        return "";
      } catch (const FileError& fault) {
        return fault.what();
      }
    }));
  }
  for (int reads = 0; reads < 1000; ++reads) {
    const std::string content = read_file(path);
    const bool whole = content.size() == size && (content[0] == 'a' || content[0] == 'b') &&
                       content.find_first_not_of(content[0]) == std::string::npos;
    EXPECT_TRUE(whole) << "a torn file of " << content.size() << " bytes";
    if (!whole) break;
  }
  for (const pid_t writer : writers) EXPECT_EQ(exit_code_of(writer), 0);
  EXPECT_EQ(folder.files(), Names{"file"});
}

TEST(WriteFileAtomically, ContainersThatShareAFolderDoNotTearFiles) { write_in_two_containers(true); }

TEST(WriteFileAtomically, NorDoContainersWithoutProc) { write_in_two_containers(false); }

TEST(WriteFileAtomically, ChangesNoOtherNameOfTheFile) {
  const ScratchFolder folder;
  write_file_atomically(folder / "other", "old");
  std::filesystem::create_hard_link(folder / "other", folder / "file");
  write_file_atomically(folder / "file", "new");
  EXPECT_EQ(read_file(folder / "other"), "old");
  std::filesystem::create_symlink(folder / "other", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_EQ(read_file(folder / "other"), "old");
}

// Whoever could foresee the name could have the content written to a file of theirs.
TEST(WriteFileAtomically, ItsTemporaryNamesCannotBeForeseen) {
  const ScratchFolder folder;
  write_file_atomically(folder / "secret", "secret");
  for (unsigned count = 1; count < 100; ++count) {
    const std::string name = fmt::format("file.tmp.{}.{}", ::getpid(), count);
    std::filesystem::create_hard_link(folder / "secret", folder / name.c_str());
  }
  write_file_atomically(folder / "file", "content");
  EXPECT_EQ(read_file(folder / "secret"), "secret");
  EXPECT_EQ(read_file(folder / "file"), "content");
}

TEST(WriteFileAtomically, RemovesTheFilesOfDeadWriters) {
  const ScratchFolder folder;
  for (const char* name : {"file.tmp.0123456789abcdef", "ignd.tmp.0123456789abcdef", "file.tmp.ffffffffffffffff",
                           "other.tmp.0123456789abcdef", "file.tmp.0123456789ABCDEF", "file.tmp.1.2", "file.tmp."}) {
    std::ofstream(folder / name) << "half";
  }
  std::filesystem::create_symlink("other.tmp.0123456789abcdef", folder / "file.tmp.0000000000000000");
  const int alive = ::open((folder / "file.tmp.ffffffffffffffff").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(alive, LOCK_EX | LOCK_NB), 0);
  const Names left{"file",
                   "file.tmp.",
                   "file.tmp.0000000000000000",
                   "file.tmp.0123456789ABCDEF",
                   "file.tmp.1.2",
                   "file.tmp.ffffffffffffffff",
                   "other.tmp.0123456789abcdef"};
  write_file_atomically(folder / "file", "content");
  EXPECT_EQ(folder.files(), left) << "not ours, or its writer is at work";
  ::close(alive);
  write_file_atomically(folder / "file", "content");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp.ffffffffffffffff"));
}

TEST(WriteFileAtomically, KeepsANarrowerMode) {
  const ScratchFolder folder;
  const mode_t before = ::umask(022);
  const auto mode_of = [&](const char* name) {
    struct stat status {};
    EXPECT_EQ(::stat((folder / name).c_str(), &status), 0);
    return status.st_mode & 07777U;
  };
  write_file_atomically(folder / "file", "first");
  EXPECT_EQ(mode_of("file"), 0644U);
  for (const mode_t mode : {0600U, 0640U, 0400U, 0666U, 0755U}) {
    ::chmod((folder / "file").c_str(), mode);
    write_file_atomically(folder / "file", "next");
    EXPECT_EQ(mode_of("file"), mode & 0644U);
    ::chmod((folder / "file").c_str(), mode);
    FileWriter writer(folder / ".");
    writer.append("next");
    writer.commit("file");
    EXPECT_EQ(mode_of("file"), mode & 0644U);
  }
  ::umask(before);
}

TEST(WriteFileAtomically, TakesTheLongestName) {
  const ScratchFolder folder;
  const std::string longest(255, 'x');
  for (const char* content : {"first", "second"}) {
    write_file_atomically(folder / longest.c_str(), content);
    EXPECT_EQ(read_file(folder / longest.c_str()), content);
  }
  EXPECT_EQ(folder.files(), Names{longest});
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
