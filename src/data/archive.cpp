#include "data/archive.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <openssl/evp.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

// "./a/b" is the same member as "a/b".
std::string_view without_dot(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

bool leads_out(std::string_view name) {
  if (name.starts_with('/') || name.find('\\') != std::string_view::npos) return true;
  return std::ranges::count(split(name, '/'), std::string_view("..")) > 0;
}

// Unpacks gzip for libarchive, which would ignore the checksum.
struct Unpacked {
  std::unique_ptr<ByteSource> bytes;
  std::vector<char> block;
};

la_ssize_t next_block(archive* reader, void* unpacked, const void** block) {
  auto* from = static_cast<Unpacked*>(unpacked);
  *block = from->block.data();
  try {
    return static_cast<la_ssize_t>(from->bytes->read(from->block));
  } catch (const FileError& fault) {
    archive_set_error(reader, EIO, "%s", fault.what());
    return ARCHIVE_FATAL;
  }
}

bool is_gzip(const fs::path& path) { return read_file(path, 2) == "\x1f\x8b"; }

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

// Walks through an archive and enforces the limits.
class Archive {
 public:
  Archive(const fs::path& path, const ArchiveLimits& limits)
      : path_(path), limits_(limits), reader_(archive_read_new()) {
    if (!reader_) throw std::bad_alloc();
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_zip_seekable(reader_.get());
    constexpr std::size_t block = std::size_t{1} << 16;
    if (is_gzip(path)) {
      unpacked_ = std::make_unique<Unpacked>(Unpacked{open_bytes(path.string()), std::vector<char>(block)});
      check(archive_read_open(reader_.get(), unpacked_.get(), nullptr, next_block, nullptr));
    } else {
      check(archive_read_open_filename(reader_.get(), path.c_str(), block));
    }
  }

  // Moves to the next regular file; false at the end.
  bool next() {
    for (;;) {
      const int code = archive_read_next_header(reader_.get(), &entry_);
      if (code == ARCHIVE_EOF) {
        if (unpacked_) read_rest();
        return false;
      }
      check(code);
      read_header();
      const bool is_link = archive_entry_hardlink(entry_) != nullptr;
      if (archive_entry_filetype(entry_) == AE_IFREG && !is_link) return true;
    }
  }

  const std::string& name() const { return name_; }

  // The content of the current member.
  std::string_view content() {
    content_.clear();
    for (;;) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_.get(), &block, &size, &offset);
      if (code == ARCHIVE_EOF) break;
      check(code == ARCHIVE_WARN ? ARCHIVE_FAILED : code);  // libarchive only warns of a wrong length or checksum
      const auto begin = static_cast<std::uint64_t>(offset);
      // Holes in a sparse file are zeros.
      hold_to(begin > limits_.member ? begin : begin + size);
      content_.resize(begin, '\0');
      content_.append(static_cast<const char*>(block), size);
    }
    if (archive_entry_size_is_set(entry_) != 0 && content_.size() != declared_size()) {
      fail(fmt::format("{} does not have the size that it declares", in_quotes(name_)));
    }
    return content_;
  }

 private:
  void read_header() {
    const char* name = archive_entry_pathname(entry_);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry_);
    if (name == nullptr || *name == '\0') fail("a member has no readable name");
    name_ = without_dot(name);
    if (leads_out(name_)) fail(fmt::format("the name {} leads outside the archive", in_quotes(name_)));
    if (++count_ > limits_.count) fail(fmt::format("it has more than {} members", limits_.count));
    if (archive_entry_size_is_set(entry_) == 0) return;
    // Unwanted members count too: skipping a compressed one means reading it.
    hold_to(declared_size());
    add_to_total(declared_size());
  }

  // The checksum comes last, after the end that libarchive sees.
  void read_rest() {
    for (la_ssize_t size = 1; size > 0;) {
      const void* block = nullptr;
      size = next_block(reader_.get(), unpacked_.get(), &block);
      check(size < 0 ? ARCHIVE_FATAL : ARCHIVE_OK);
      add_to_total(static_cast<std::uint64_t>(size));
    }
  }

  void add_to_total(std::uint64_t size) {
    total_ += size;
    if (total_ > limits_.total) fail(fmt::format("it holds more than {} bytes", limits_.total));
  }

  std::uint64_t declared_size() const { return static_cast<std::uint64_t>(archive_entry_size(entry_)); }

  void hold_to(std::uint64_t size) const {
    if (size > limits_.member) fail(fmt::format("{} is larger than {} bytes", in_quotes(name_), limits_.member));
  }

  void check(int code) const {
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    const char* reason = archive_error_string(reader_.get());
    fail(printable(reason == nullptr ? "it is damaged" : reason, 200));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(fmt::format("cannot read the archive {}: {}; download it again", quoted_path(path_), reason));
  }

  const fs::path& path_;
  const ArchiveLimits& limits_;
  std::unique_ptr<Unpacked> unpacked_;  // none for a zip
  std::unique_ptr<archive, FreeArchive> reader_;
  archive_entry* entry_ = nullptr;
  std::string name_, content_;
  std::uint64_t count_ = 0, total_ = 0;
};

}  // namespace

bool is_archive(std::string_view name) {
  return name.ends_with(".tgz") || name.ends_with(".tar.gz") || name.ends_with(".zip");
}

void visit_members(const fs::path& path, const std::string& name, const MemberWanted& wanted,
                   const MemberVisitor& visit, const ArchiveLimits& limits) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) {
    throw FileError(
        fmt::format("{} {}", quoted_path(path), fault ? "cannot be opened: " + fault.message() : "is not a file"));
  }
  if (!is_archive(name)) {
    if (!wanted(name)) return;
    const std::string content = read_file(path, limits.member + 1);
    if (content.size() > limits.member) {
      throw FileError(fmt::format("{} is larger than {} bytes", quoted_path(path), limits.member));
    }
    visit(name, content);
    return;
  }
  Archive archive(path, limits);
  while (archive.next()) {
    if (wanted(archive.name())) visit(archive.name(), archive.content());
  }
}

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
    check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  }

  void add(std::string_view bytes) { check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size())); }

  std::string digits() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size));
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  static void check(int code) {
    if (code != 1) throw std::runtime_error("OpenSSL has no SHA-256 here");
  }

  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace

std::string sha256(std::string_view content) {
  Sha256 sum;
  sum.add(content);
  return sum.digits();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 sum;
  std::vector<char> block(std::size_t{1} << 18);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    sum.add({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (!file.eof() || file.bad()) throw FileError(fmt::format("cannot read {}", quoted_path(path)));
  return sum.digits();
}

bool matches(std::string_view name, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), std::string(name).c_str(), FNM_PATHNAME | FNM_NOESCAPE) == 0;
}

MemberChecksum member_checksum(const std::filesystem::path& path, const std::string& name,
                               const std::vector<std::string>& patterns, std::uint64_t most) {
  std::map<std::string, std::string> sums;
  const auto wanted = [&](std::string_view member) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(member, pattern); });
  };
  const auto fail = [&](const std::string& reason) {
    throw FileError(fmt::format("{} {}", quoted_path(path), reason));
  };
  visit_members(path, name, wanted, [&](const std::string& member, std::string_view content) {
    if (sums.size() == most) fail(fmt::format("holds more than the {} files of this data set", most));
    if (!sums.emplace(member, sha256(content)).second) fail(fmt::format("holds {} twice", in_quotes(member)));
  });
  std::string lines;
  for (const auto& [member, sum] : sums) lines += fmt::format("{}  {}\n", sum, member);
  return {sha256(lines), sums.size()};
}

}  // namespace ignd
