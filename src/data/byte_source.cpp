#include "data/byte_source.hpp"

#include "base/atomic_file.hpp"
#include "base/pinned.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace ignd {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view spaces = " \t\r\n";

std::string in_python(std::string_view reader) {
  return fmt::format("convert it to comma-separated values, in Python with pandas.{}.to_csv('data.csv', index=False)",
                     reader);
}

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view reader;  // the pandas function; if empty, `advice` applies
  std::string_view advice = "";
};

constexpr Magic magics[]{
    // Longer than the magic number itself: a column may be called PAR1.
    {"PAR1\x15"sv, "a Parquet file", "read_parquet('FILE')"},
    {"ARROW1\0\0"sv, "an Arrow (Feather) file", "read_feather('FILE')"},
    {"SQLite format 3\0"sv, "an SQLite database", "",
     "export a table with: sqlite3 -header -csv FILE 'select * from TABLE' > data.csv"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an Excel workbook", "", "save the sheet as CSV (UTF-8)"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "read_hdf('FILE')"},
    {"\x93NUMPY"sv, "a NumPy array", "", "write it as text with numpy.savetxt('data.csv', array, delimiter=',')"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "", "unpack it first: unzstd FILE"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz", "", "unpack it first: unxz FILE"},
    {"BZh91AY&SY"sv, "compressed by bzip2", "", "unpack it first: bunzip2 FILE"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "", "unpack it first: 7z x FILE"},
    {"%PDF-"sv, "a PDF file", "", "ignd reads tables as comma-separated values"},
};

constexpr std::string_view zip_magic = "PK\3\4";

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text;
}

// Tells by the name of the first member, which is near the front.
std::string describe_zip(std::string_view bytes) {
  constexpr std::size_t name_at = 30;
  const std::string_view name = bytes.substr(std::min(name_at, bytes.size()));
  const auto begins = [&](std::string_view front) { return name.starts_with(front); };
  if (begins("[Content_Types].xml") || begins("_rels/") || begins("xl/") || begins("docProps/")) {
    return "an Excel workbook; save the sheet as CSV (UTF-8), or " + in_python("read_excel('FILE')");
  }
  if (begins("mimetypeapplication/vnd.oasis")) return "an OpenDocument file; save the sheet as CSV (UTF-8)";
  return "a zip archive; unpack it first: unzip FILE";
}

// "{" and a key, or a list of such objects. The line's end must fit too, since a CSV field may begin like this.
std::string describe_json(std::string_view text) {
  text = without_spaces(text);
  if (!text.starts_with('{') && !text.starts_with('[')) return "";
  std::string_view line = text.substr(0, text.find('\n'));
  line = line.substr(0, line.find_last_not_of(spaces) + 1);
  const std::string_view inside = without_spaces(text.substr(1));
  if (text.starts_with('[')) {
    const bool holds_more = inside.starts_with('{') || inside.starts_with('[');
    return holds_more || line == "[" ? "a JSON file; " + in_python("read_json('FILE')") : "";
  }
  if (line == "{") return "a JSON file; " + in_python("read_json('FILE')");
  if (!inside.starts_with('"') || std::string_view("},{[").find(line.back()) == std::string_view::npos) return "";
  const bool whole = line.ends_with('}');
  return whole ? "a JSON-lines file; " + in_python("read_json('FILE', lines=True)")
               : "a JSON file; " + in_python("read_json('FILE')");
}

bool is_web_page(std::string_view text) {
  constexpr std::string_view fronts[]{"<!doctype html", "<html"};
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  text = without_spaces(text);
  return std::ranges::any_of(fronts, [&](std::string_view front) {
    return text.size() >= front.size() &&
           std::equal(front.begin(), front.end(), text.begin(), [&](char b, char a) { return same(a, b); });
  });
}

// Names a format that we do not read and a remedy, from the first bytes: "a Parquet file; ...". Empty if the file may
// be text of rows or examples. Of a text, the whole first line is needed.
std::string describe_other_format(std::string_view beginning) {
  for (const Magic& magic : magics) {
    if (!beginning.starts_with(magic.bytes)) continue;
    return fmt::format("{}; {}", magic.what,
                       magic.reader.empty() ? std::string(magic.advice) : in_python(magic.reader));
  }
  if (beginning.starts_with(zip_magic)) return describe_zip(beginning);
  if (is_web_page(beginning)) return "a web page; did the download fail?";
  return describe_json(beginning);
}

// Whether the bytes so far agree with the magic number of another format; format_bytes of them are enough to tell which
// one.
constexpr std::size_t format_bytes = 64;

bool begins_like_other_format(std::string_view beginning) {
  const auto agrees = [&](std::string_view bytes) {
    const std::size_t both = std::min(bytes.size(), beginning.size());
    return bytes.substr(0, both) == beginning.substr(0, both);
  };
  return agrees(zip_magic) || std::ranges::any_of(magics, agrees, &Magic::bytes);
}

// Opened without blocking: a pipe that has no writer yet must not block open(), which nothing could interrupt. We wait
// in poll() instead.
class File final : public ByteSource {
 public:
  File(const std::string& path, int interruption)
      : name_(path == "-" ? "the standard input" : quoted_path(path)),
        bytes_(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                           : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        interruption_(interruption) {
    if (!bytes_.is_open() || !stop_.is_open())
      throw FileError(fmt::format("cannot open {}: {}", name_, std::strerror(errno)));
    struct stat about {};
    if (fstat(*bytes_, &about) == 0) {
      if (S_ISDIR(about.st_mode)) throw FileError(fmt::format("{} is a folder", name_));
      may_wait_ = !S_ISREG(about.st_mode);
    }
    posix_fadvise(*bytes_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  std::size_t read(std::span<char> into) override {
    ssize_t count = 0;
    do {
      if (may_wait_ && !wait_for_bytes()) return 0;
      count = ::read(*bytes_, into.data(), into.size());
    } while (count < 0 && (errno == EINTR || errno == EAGAIN));
    if (count < 0) throw FileError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    return static_cast<std::size_t>(count);
  }

  void stop_waiting() override {
    const std::uint64_t one = 1;
    // Fails only if the counter overflows, and then nothing waits any more.
    [[maybe_unused]] const ssize_t written = write(*stop_, &one, sizeof one);
  }

  const std::string& name() const override { return name_; }

 private:
  // False if told to stop. Otherwise there is data, an end or an error: read() tells which.
  bool wait_for_bytes() const {
    std::array<pollfd, 3> any{pollfd{*bytes_, POLLIN, 0}, pollfd{*stop_, POLLIN, 0}, pollfd{interruption_, POLLIN, 0}};
    while (poll(any.data(), any.size(), -1) < 0 && errno == EINTR) {
    }
    return any[1].revents == 0 && any[2].revents == 0;
  }

  std::string name_;
  Descriptor bytes_;
  Descriptor stop_;   // set by stop_waiting()
  int interruption_;  // owned by the caller; negative: none
  bool may_wait_ = true;
};

// Bytes that were read to recognise the format, followed by the rest.
class PutBack final : public ByteSource {
 public:
  PutBack(std::string_view front, std::unique_ptr<ByteSource> rest) : front_(front), rest_(std::move(rest)) {}
  std::size_t read(std::span<char> into) override {
    if (given_ == front_.size()) return rest_->read(into);
    const std::size_t count = std::min(into.size(), front_.size() - given_);
    std::copy_n(front_.data() + given_, count, into.data());
    given_ += count;
    return count;
  }
  void stop_waiting() override { rest_->stop_waiting(); }
  const std::string& name() const override { return rest_->name(); }

 private:
  std::string front_;
  std::size_t given_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

// One or more gzip members, as gzip and bgzip write them; zeros may pad the last one, as on tapes and block devices.
class Gzip final : public ByteSource, Pinned {
 public:
  explicit Gzip(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), buffer_(std::size_t{1} << 18) {
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw FileError("cannot start decompressing gzip");
  }
  ~Gzip() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> into) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1U << 30));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0 && !refill()) {
        if (between_members_) return 0;
        throw FileError(fmt::format("{} is truncated gzip; is the file complete?", name()));
      }
      if (between_members_ && *stream_.next_in == 0) {
        skip_padding();
        return 0;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      between_members_ = status == Z_STREAM_END;
      if (between_members_) inflateReset(&stream_);
      const bool broken = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR;
      // Deliver what was unpacked before the fault first; the next call runs into it again.
      if (broken && stream_.avail_out == room) {
        throw FileError(fmt::format("{} is broken gzip: {}", name(),
                                    stream_.msg != nullptr ? stream_.msg : "the data cannot be unpacked"));
      }
    }
    return room - stream_.avail_out;
  }

  void stop_waiting() override { packed_->stop_waiting(); }
  const std::string& name() const override { return packed_->name(); }

 private:
  // Accepts only zeros up to the end of the file.
  void skip_padding() {
    do {
      const std::span padding(stream_.next_in, stream_.avail_in);
      if (std::ranges::any_of(padding, [](Bytef byte) { return byte != 0; })) {
        throw FileError(fmt::format("{} is broken gzip: other bytes follow it", name()));
      }
      stream_.avail_in = 0;
    } while (refill());
  }

  bool refill() {
    const std::size_t count = packed_->read(buffer_);
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool between_members_ = false;
};

class TextInMemory final : public ByteSource {
 public:
  TextInMemory(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min(into.size(), rest_.size());
    std::copy_n(rest_.data(), count, into.data());
    rest_.remove_prefix(count);
    return count;
  }
  void stop_waiting() override { rest_ = {}; }
  const std::string& name() const override { return name_; }

 private:
  std::string_view rest_;
  std::string name_;
};

// Examines the first line before it delivers any bytes.
class Text final : public ByteSource {
 public:
  explicit Text(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}

  std::size_t read(std::span<char> into) override {
    if (!looked_) look(into.size());
    std::size_t count = std::min(into.size(), front_.size() - given_);
    if (count > 0) {
      std::copy_n(front_.data() + given_, count, into.data());
      given_ += count;
      if (given_ == front_.size()) {
        front_ = {};
        given_ = 0;
      }
    } else {
      count = bytes_->read(into);
    }
    if (carriage_returns_) std::ranges::replace(into.first(count), '\r', '\n');
    return count;
  }
  void stop_waiting() override { bytes_->stop_waiting(); }
  const std::string& name() const override { return bytes_->name(); }

 private:
  // Reads up to the first newline, or until a binary format can be told. The result does not depend on how the bytes
  // arrive in chunks.
  void look(std::size_t chunk) {
    constexpr std::size_t enough = std::size_t{1} << 16;
    constexpr std::string_view mark = "\xef\xbb\xbf";
    const auto body = [&] {
      const std::string_view all = front_;
      return all.substr(all.starts_with(mark) ? mark.size() : 0);
    };
    bool ended = false;
    while (!ended && front_.size() < enough &&
           (front_.find('\n') == std::string::npos ||
            (body().size() < format_bytes && begins_like_other_format(body())))) {
      const std::size_t before = front_.size();
      front_.resize(before + chunk);
      const std::size_t count = bytes_->read(std::span(front_).subspan(before));
      front_.resize(before + count);
      ended = count == 0;
    }
    looked_ = true;
    if (front_.starts_with("\xff\xfe") || front_.starts_with("\xfe\xff")) {
      throw FileError(fmt::format("{} is UTF-16; save it as UTF-8", name()));
    }
    given_ = front_.size() - body().size();
    const std::size_t judged = begins_like_other_format(body()) ? format_bytes : body().substr(0, enough).find('\n');
    const std::string other = describe_other_format(body().substr(0, std::min(judged, enough)));
    if (!other.empty()) throw FileError(fmt::format("{} is {}", name(), other));
    const std::string_view seen = std::string_view(front_).substr(0, enough);
    if (seen.find('\n') != std::string_view::npos) return;
    const std::size_t first = seen.find('\r');
    carriage_returns_ = first != std::string_view::npos && (ended || first + 1 < seen.size());
  }

  std::unique_ptr<ByteSource> bytes_;
  std::string front_;
  std::size_t given_ = 0;
  bool looked_ = false;
  bool carriage_returns_ = false;  // they end the lines
};

}  // namespace

std::unique_ptr<ByteSource> bytes_of(std::string_view text, std::string name) {
  return std::make_unique<TextInMemory>(text, std::move(name));
}

std::unique_ptr<ByteSource> as_text(std::unique_ptr<ByteSource> bytes) {
  return std::make_unique<Text>(std::move(bytes));
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, int interruption) {
  std::unique_ptr<ByteSource> file = std::make_unique<File>(path, interruption);
  constexpr std::string_view gzip_mark = "\x1f\x8b";
  std::array<char, 2> front{};
  std::size_t count = 0;
  while (count < front.size()) {
    const std::size_t more = file->read(std::span(front).subspan(count));
    if (more == 0) break;
    count += more;
  }
  const std::string_view seen(front.data(), count);
  const bool packed = seen == gzip_mark;
  file = std::make_unique<PutBack>(seen, std::move(file));
  if (packed) file = std::make_unique<Gzip>(std::move(file));
  return file;
}

namespace {

// Counts in bytes, in chunks that cannot overflow one, so that the compiler can vectorise the loop.
std::uint64_t count_newlines(std::string_view text) {
  constexpr std::size_t most = 255;
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < text.size(); at += most) {
    std::uint8_t count = 0;
    for (const char c : text.substr(at, most)) count = static_cast<std::uint8_t>(count + (c == '\n' ? 1 : 0));
    total += count;
  }
  return total;
}

}  // namespace

bool LineBlocks::next(LineBlock& block) {
  std::size_t room = std::max(block_size_, begun_.size() + 1);
  const auto make_room = [&] {
    if (block.bytes.size() < room) block.bytes.resize(room);
  };
  make_room();
  std::copy(begun_.begin(), begun_.end(), block.bytes.begin());
  std::size_t filled = begun_.size();
  block.size = 0;

  while (block.size == 0) {
    if (filled == room) {
      if (room > longest_line) {
        throw FileError(fmt::format("{}, line {}: is longer than {} MiB; is this a text file of examples?",
                                    source_->name(), next_line_, longest_line >> 20));
      }
      room = std::min(2 * room, longest_line + 1);
      make_room();
    }
    const std::size_t count = source_->read(std::span(block.bytes).subspan(filled, room - filled));
    if (count == 0) {
      if (filled == 0) return false;
      block.bytes[filled++] = '\n';
      block.size = filled;
    } else {
      const std::string_view fresh(block.bytes.data() + filled, count);
      const std::size_t newline = fresh.rfind('\n');
      if (newline != std::string_view::npos) block.size = filled + newline + 1;
      filled += count;
    }
  }
  begun_.assign(block.bytes.data() + block.size, filled - block.size);
  block.first_line = next_line_;
  next_line_ += count_newlines(block.text());
  return true;
}

}  // namespace ignd
