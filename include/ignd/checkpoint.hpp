#pragma once

#include "ignd/api.hpp"
#include "ignd/random.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ignd {

// A file of named entries: texts and arrays of numbers. The format is in docs/formats.md.
class IGND_API Checkpoint {
 public:
  using Entry = std::variant<std::string, std::vector<float>, std::vector<double>, std::vector<std::uint32_t>,
                             std::vector<std::uint64_t>>;

  void set(std::string name, std::string text);
  void set(std::string name, std::uint64_t number);
  template <class T>
  void set(std::string name, std::span<const T> values) {
    entries_[std::move(name)] = std::vector<T>(values.begin(), values.end());
  }
  void set(const std::string& name, const RandomStream& stream);  // as "stream.NAME"

  bool has(std::string_view name) const { return entries_.contains(name); }

  // These throw FileError if there is no entry of that name, type and size. A reference lives as long as the
  // checkpoint, so a temporary gives none.
  const std::string& text(std::string_view name) const&;
  const std::string& text(std::string_view name) const&& = delete;
  std::uint64_t number(std::string_view name) const;
  template <class T>
  const std::vector<T>& array(std::string_view name, std::size_t size) const&;
  template <class T>
  const std::vector<T>& array(std::string_view name, std::size_t size) const&& = delete;
  RandomStream stream(std::string_view name) const;

  const std::map<std::string, Entry, std::less<>>& entries() const& { return entries_; }
  const std::map<std::string, Entry, std::less<>>& entries() const&& = delete;

  // Writes a temporary file beside `path`, syncs it and renames it: at every moment `path` is either what it was
  // before or the whole new file. Throws FileError; the temporary file is removed.
  void write(const std::filesystem::path& path) const;

  // Checks size, version and checksum before it trusts anything, and every size before it allocates memory for it.
  // Throws FileError.
  static Checkpoint read(const std::filesystem::path& path);

  // The same in memory; `name` stands for a path in messages.
  std::string to_bytes() const;
  static Checkpoint from_bytes(std::string_view bytes, const std::filesystem::path& name = "checkpoint");

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace ignd
