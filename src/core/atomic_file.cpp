#include "core/atomic_file.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path, int error) {
  throw FileError(fmt::format("cannot {} {}: {}", what, quoted_path(path), std::generic_category().message(error)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&&) = delete;
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Removes the temporary file unless it has become the real one.
class RemoveOnExit {
 public:
  explicit RemoveOnExit(const std::filesystem::path& path) : path_(path) {}
  RemoveOnExit(const RemoveOnExit&) = delete;
  RemoveOnExit& operator=(const RemoveOnExit&) = delete;
  RemoveOnExit(RemoveOnExit&&) = delete;
  RemoveOnExit& operator=(RemoveOnExit&&) = delete;
  ~RemoveOnExit() {
    if (armed_) ::unlink(path_.c_str());
  }
  void disarm() { armed_ = false; }

 private:
  const std::filesystem::path& path_;
  bool armed_ = true;
};

// Of its own for every writer, in this process and in others.
std::string temporary_suffix() {
  static std::atomic<unsigned> count = 0;
  return fmt::format(".tmp.{}.{}", ::getpid(), ++count);
}

// Returns the number of the error, or 0.
int write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// A device or a pipe of this name would be gone, /dev/null for everybody.
void refuse_to_replace_devices(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw FileError(fmt::format("cannot replace {}: it is not a regular file", quoted_path(path)));
}

void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const FileDescriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) fail("sync the folder of", path, errno);
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  refuse_to_replace_devices(path);
  std::filesystem::path temporary = path;
  temporary += temporary_suffix();
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) fail("create", temporary, errno);
  RemoveOnExit cleanup(temporary);
  if (const int error = write_all(file.get(), content)) fail("write", path, error);
  // Before the rename: otherwise a crash could leave the new name with no content.
  if (::fsync(file.get()) != 0) fail("sync", path, errno);
  if (!file.close()) fail("close", path, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("replace", path, errno);
  cleanup.disarm();

  sync_folder(path.has_parent_path() ? path.parent_path() : ".", path);
}

FileWriter::FileWriter(const std::filesystem::path& folder)
    : folder_(folder), file_(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)) {
  if (file_ >= 0) return;
  temporary_ = folder / ("ignd" + temporary_suffix());
  file_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) fail("create a file in", folder, errno);
}

FileWriter::~FileWriter() {
  ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileWriter::append(std::string_view bytes) {
  if (const int error = write_all(file_, bytes)) fail("write a file in", folder_, error);
}

void FileWriter::commit(const std::string& name) {
  const std::filesystem::path path = folder_ / name;
  refuse_to_replace_devices(path);
  if (::fsync(file_) != 0) fail("sync", path, errno);
  if (temporary_.empty()) {
    // A link cannot take the place of another file, a rename can.
    const std::filesystem::path linked = folder_ / (name + temporary_suffix());
    const std::string open_file = fmt::format("/proc/self/fd/{}", file_);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, linked.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail("create", path, errno);
    }
    temporary_ = linked;
  }
  if (::rename(temporary_.c_str(), path.c_str()) != 0) fail("replace", path, errno);
  temporary_.clear();
  sync_folder(folder_, path);
}

std::filesystem::path temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

std::string read_file(const std::filesystem::path& path, std::size_t most) {
  // Without waiting: opening a pipe would, for somebody to write to it.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail("open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("read", path, errno);
  if (!S_ISREG(status.st_mode)) throw FileError(fmt::format("{} is not a regular file", quoted_path(path)));
  std::string content;
  try {
    content.resize(std::min(static_cast<std::size_t>(status.st_size), most));
  } catch (const std::exception&) {
    fail("read", path, ENOMEM);
  }
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) break;  // it has become shorter meanwhile; the caller's checks will tell
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

}  // namespace ignd
