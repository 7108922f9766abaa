#include "cli/save_model.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "core/saved_run.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".ignd";
constexpr std::string_view partial_mark = ".partial";

// A name like this one that is free in the folder.
std::string free_path(const fs::path& folder, const std::string& stem) {
  fs::path path = folder / (stem + ".ignd");
  for (int i = 2; fs::exists(path); ++i) path = folder / fmt::format("{}-{}.ignd", stem, i);
  return path;
}

Saved save_somewhere(const Checkpoint& checkpoint, const std::string& path) {
  try {
    checkpoint.write(path);
    return {path, ""};
  } catch (const FileError& fault) {
    try {
      const std::string refuge = free_path(fs::temp_directory_path(), fs::path(path).stem());
      checkpoint.write(refuge);
      return {refuge, fmt::format("{}; saved {} instead", fault.what(), quoted_path(refuge))};
    } catch (const std::exception&) {  // the folder for temporary files may be missing, too
      return {"", fmt::format("{}; the model is not saved", fault.what())};
    }
  }
}

std::string text_of(const Checkpoint& checkpoint, const std::string& name) {
  return checkpoint.has(name) ? checkpoint.text(name) : "";
}

// All texts whose names begin and end like this, sorted.
std::vector<std::string> texts_of(const Checkpoint& checkpoint, std::string_view begin, std::string_view end) {
  std::vector<std::string> texts;
  for (const auto& [name, entry] : checkpoint.entries()) {
    const auto* text = std::get_if<std::string>(&entry);
    if (text != nullptr && name.starts_with(begin) && name.ends_with(end)) texts.push_back(*text);
  }
  std::ranges::sort(texts);
  return texts;
}

std::vector<std::string> columns_of(const Checkpoint& checkpoint) {
  auto columns = texts_of(checkpoint, "column.", ".name");
  return columns.empty() ? texts_of(checkpoint, "stream.column.", "") : columns;
}

// How the data of two models differ; empty if they do not.
std::string difference(const Checkpoint& before, const Checkpoint& now) {
  using Entry = std::pair<const char*, const char*>;
  for (const auto& [entry, what] :
       {Entry{"kind", "kind"}, Entry{"target.name", "target"}, Entry{"stream.target", "target"},
        Entry{"text.column", "column of texts"}, Entry{"stream.format", "format"}}) {
    const std::string was = text_of(before, entry);
    const std::string is = text_of(now, entry);
    if (was != is) return fmt::format("its {} is {}, not {}", what, in_quotes(was), in_quotes(is));
  }
  const auto columns = columns_of(now);
  if (columns_of(before) != columns) return "its columns are others";
  const bool has_columns = !columns.empty() || !text_of(now, "text.column").empty();
  const auto classes = [](const Checkpoint& of) { return texts_of(of, "target.class.", ""); };
  return !has_columns && classes(before) != classes(now) ? "its classes are others" : "";
}

// Describes this process to others that want the same name.
std::string who_and_when() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {} since {:%Y-%m-%d %H:%M:%S} UTC", ::getpid(), host,
                     fmt::gmtime(std::time(nullptr)));
}

}  // namespace

std::string default_model_path(const std::string& data) {
  std::error_code fault;
  // Works for a folder given as "." or "photos/", too.
  if (fs::is_directory(data, fault)) return fs::canonical(data).filename().string() + std::string(extension);
  fs::path name = data == "-" ? "model" : fs::path(data).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string() + std::string(extension);
}

std::string partial_path(const std::string& model) {
  const bool has_extension = model.ends_with(extension);
  const std::string stem = model.substr(0, model.size() - (has_extension ? extension.size() : 0));
  return stem + std::string(partial_mark) + std::string(has_extension ? extension : "");
}

std::string whole_path(const std::string& partial) {
  for (const std::string_view end : {extension, std::string_view()}) {
    const std::string mark = std::string(partial_mark) + std::string(end);
    if (partial.ends_with(mark)) return partial.substr(0, partial.size() - mark.size()) + std::string(end);
  }
  return partial;
}

OutputFile::OutputFile(const Options& options, const DataFile& data)
    : path_(!options.save.empty()     ? options.save
            : !options.resume.empty() ? whole_path(options.resume)
                                      : default_model_path(data.path)),
      partial_(partial_path(path_)),
      asked_(path_ == options.save || path_ == options.resume),
      goes_on_(path_ == options.resume),
      has_partial_(partial_ == options.resume) {
  check_can_save(path_, data);
  for (const std::string& path : {path_, partial_}) {
    std::error_code ignored;
    if (path == options.resume || !fs::is_regular_file(path, ignored) || fs::is_empty(path, ignored)) continue;
    if (is_checkpoint_file(path)) continue;
    throw FileError(fmt::format(
        "cannot save {}: a file is there that is not an ignd model; give another name with --save", quoted_path(path)));
  }
  const fs::path name(path_);
  lock_path_ = name.parent_path() / ("." + name.filename().string() + ".lock");
  lock();
}

OutputFile::~OutputFile() {
  if (lock_.is_open() && lock_.is_at(lock_path_)) ::unlink(lock_path_.c_str());
}

// Never writes to a file that exists, which may not be ours. Removes one that is not locked, since its owner is dead.
void OutputFile::lock() {
  const auto failed = [this](int error) {
    return FileError(fmt::format("cannot save {}: cannot lock {}: {}", quoted_path(path_), quoted_path(lock_path_),
                                 std::generic_category().message(error)));
  };
  const std::string own = who_and_when();
  for (;;) {
    Descriptor file(::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    const bool is_ours = file.is_open();
    if (!is_ours && errno != EEXIST) throw failed(errno);
    if (is_ours) {
      // A hint for other processes, no more.
      [[maybe_unused]] const ssize_t written = ::write(*file, own.data(), own.size());
    } else {
      file = Descriptor(::open(lock_path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!file.is_open() && errno == ENOENT) continue;
      if (!file.is_open()) throw failed(errno);
    }
    const bool got = ::flock(*file, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (is_ours && (got || error != EWOULDBLOCK) && file.is_at(lock_path_)) {
      lock_ = std::move(file);
      return;
    }
    std::string other(200, '\0');
    other.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(*file, other.data(), other.size(), 0), 0)));
    if (got && file.is_at(lock_path_)) ::unlink(lock_path_.c_str());
    if (got || is_ours) continue;
    if (error != EWOULDBLOCK) throw failed(error);
    throw FileError(
        fmt::format("cannot save {}: {} is training a model of this name; wait for it, or give another name with "
                    "--save",
                    quoted_path(path_), other.empty() ? "another process" : printable(other, other.size())));
  }
}

void OutputFile::check_same_data(const Checkpoint& now) const {
  std::error_code ignored;
  if (asked_ || !fs::exists(path_, ignored) || fs::is_empty(path_, ignored)) return;
  std::string fault;
  try {
    fault = difference(Checkpoint::read(path_), now);
    if (!fault.empty())
      fault = fmt::format("cannot save {}: it is a model of other data ({})", quoted_path(path_), fault);
  } catch (const FileError& damage) {
    fault = damage.what();
  }
  if (fault.empty()) return;
  throw FileError(fmt::format("{}; --save {} replaces it, --save and another name keeps it", fault, shell_word(path_)));
}

Saved OutputFile::save(const Checkpoint& checkpoint) {
  std::error_code ignored;
  const bool replaces = !goes_on_ && fs::exists(path_, ignored) && !fs::is_empty(path_, ignored);
  Saved saved = save_somewhere(checkpoint, path_);
  saved.replaced = replaces && saved.fault.empty();
  if (saved.fault.empty() && has_partial_) fs::remove(partial_, ignored);
  return saved;
}

Saved OutputFile::save_partial(const Checkpoint& checkpoint) {
  Saved saved = save_somewhere(checkpoint, partial_);
  if (saved.fault.empty()) has_partial_ = true;
  return saved;
}

void check_can_save(const std::string& path, const DataFile& data) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw FileError(fmt::format("cannot save {}: there is no folder {}", quoted_path(path), quoted_path(folder)));
  }
  if (fs::is_directory(path, ignored) || fs::path(path).filename().empty()) {
    throw FileError(fmt::format("cannot save {}: it is a folder", quoted_path(path)));
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw FileError(fmt::format("cannot save {}: it is not a regular file", quoted_path(path)));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError(fmt::format("cannot save {}: the folder cannot be written to", quoted_path(path)));
  }
  refuse_same_file(path, data.path, "the data");
}

void refuse_same_file(const std::string& path, const std::string& other, const char* what) {
  std::error_code ignored;
  if (path == other || fs::equivalent(path, other, ignored)) {
    throw FileError(fmt::format("cannot save {}: that is {}", quoted_path(path), what));
  }
}

}  // namespace ignd::cli
