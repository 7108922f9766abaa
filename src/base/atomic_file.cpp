#include "base/atomic_file.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path, int error) {
  throw FileError(fmt::format("cannot {} {}: {}", what, quoted_path(path), std::generic_category().message(error)));
}

// Unpredictable, so that nobody else can put a file or a link there first.
std::string temporary_name(const std::string& stem) {
  std::uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) != sizeof random) {
    if (errno != EINTR) {
      throw FileError(fmt::format("cannot draw a random name: {}", std::generic_category().message(errno)));
    }
  }
  return fmt::format("{}.tmp.{:016x}", stem, random);
}

bool is_temporary_name(std::string_view name, std::string_view stem) {
  constexpr std::string_view mark = ".tmp.";
  constexpr std::size_t digits = 16;
  if (name.size() != stem.size() + mark.size() + digits || !name.starts_with(stem)) return false;
  name.remove_prefix(stem.size());
  return name.starts_with(mark) && name.find_first_not_of("0123456789abcdef", mark.size()) == std::string_view::npos;
}

// The stem of temporary names if the final name is not known yet, or too long.
constexpr const char* any_stem = "ignd";

std::string temporary_stem(const std::string& name) {
  constexpr std::size_t long_name = 200;
  return name.empty() || name.size() > long_name ? any_stem : name;
}

// A writer locks its temporary file while it lives. False if another writer holds the lock. File systems without locks
// count as unlocked.
bool lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

// Creates a file and locks it. If the result is not open, errno says why.
Descriptor create_locked(const std::filesystem::path& folder, const std::string& stem, mode_t mode,
                         std::filesystem::path& path) {
  for (;;) {
    path = folder / temporary_name(stem);
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file.is_open() && errno == EEXIST) continue;
    // Before the lock, another writer may have removed the file as abandoned.
    if (!file.is_open() || (lock(*file) && file.is_at(path))) return file;
  }
}

// Removes this user's unlocked temporary files: their writers are dead.
void remove_dead(const std::filesystem::path& folder, const std::string& stem) {
  std::error_code fault;
  for (std::filesystem::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    const std::string name = at->path().filename();
    if (!is_temporary_name(name, stem) && !is_temporary_name(name, any_stem)) continue;
    const Descriptor file(::open(at->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file.is_open() || ::fstat(*file, &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) continue;
    if (::flock(*file, LOCK_EX | LOCK_NB) == 0 && file.is_at(at->path())) ::unlink(at->path().c_str());
  }
}

// The permissions of the file that is replaced: the new one must not allow more.
mode_t mode_of(const std::filesystem::path& path) {
  constexpr mode_t any = 0666;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & any : any;
}

// Replacing a device or a pipe would destroy it: /dev/null for everybody.
void refuse_to_replace_devices(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw FileError(fmt::format("cannot replace {}: it is not a regular file", quoted_path(path)));
}

void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(*directory) != 0) fail("sync the folder of", path, errno);
}

}  // namespace

bool Descriptor::is_at(const std::filesystem::path& path) const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(number_, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

int Descriptor::write(std::string_view& bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  refuse_to_replace_devices(path);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  FileWriter writer(folder, path);
  writer.append(content);
  writer.commit(path.filename());
}

FileWriter::FileWriter(const std::filesystem::path& folder, const std::filesystem::path& target)
    : folder_(folder),
      name_(target.empty() ? "a file in " + quoted_path(folder) : quoted_path(target)),
      file_(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode_of(target))) {
  if (file_.is_open() && ::access(open_file().c_str(), F_OK) == 0) {
    lock(*file_);
    return;
  }
  file_ = Descriptor();
  file_ = create_locked(folder, temporary_stem(target.filename()), mode_of(target), temporary_);
  if (!file_.is_open()) fail("create", errno);
}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileWriter::fail(std::string_view what, int error) const {
  throw FileError(fmt::format("cannot {} {}: {}", what, name_, std::generic_category().message(error)));
}

std::string FileWriter::open_file() const { return fmt::format("/proc/self/fd/{}", *file_); }

void FileWriter::append(std::string_view bytes) {
  if (const int error = file_.write(bytes)) fail("write", error);
}

void FileWriter::commit(const std::string& name) {
  const std::filesystem::path path = folder_ / name;
  name_ = quoted_path(path);
  refuse_to_replace_devices(path);
  struct stat status {};
  if (::fstat(*file_, &status) != 0) fail("look at", errno);
  const mode_t wider = status.st_mode & ~mode_of(path) & mode_of({});
  if (wider != 0 && ::fchmod(*file_, status.st_mode & mode_of(path)) != 0) fail("protect", errno);
  // Sync before the rename: otherwise a crash could leave an empty file under the new name.
  if (::fsync(*file_) != 0) fail("sync", errno);
  // A link cannot replace an existing file, a rename can.
  while (temporary_.empty()) {
    const std::filesystem::path linked = folder_ / temporary_name(temporary_stem(name));
    if (::linkat(AT_FDCWD, open_file().c_str(), AT_FDCWD, linked.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = linked;
    } else if (errno != EEXIST) {
      fail("create", errno);
    }
  }
  if (::rename(temporary_.c_str(), path.c_str()) != 0) fail("replace", errno);
  temporary_.clear();
  remove_dead(folder_, temporary_stem(name));
  sync_folder(folder_, path);
}

std::filesystem::path temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

std::string read_file(const std::filesystem::path& path, std::size_t most) {
  // Non-blocking: opening a pipe would wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) fail("open", path, errno);
  struct stat status {};
  if (::fstat(*file, &status) != 0) fail("read", path, errno);
  if (!S_ISREG(status.st_mode)) throw FileError(fmt::format("{} is not a regular file", quoted_path(path)));
  std::string content;
  try {
    content.resize(std::min(static_cast<std::size_t>(status.st_size), most));
  } catch (const std::exception&) {
    fail("read", path, ENOMEM);
  }
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(*file, content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) break;  // truncated meanwhile; the caller's checks will tell
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

}  // namespace ignd
