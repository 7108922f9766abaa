#include "ignd/checkpoint.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "core/saved_run.hpp"
#include "ignd/error.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

// The format is described in docs/formats.md.
namespace ignd {
namespace {

static_assert(std::endian::native == std::endian::little, "the checkpoint format is little-endian");

constexpr std::string_view magic{"\x89IGND\r\n\x1a", 8};
constexpr std::uint32_t format_version = 1;
constexpr std::size_t header_size = 24;  // magic, version, number of entries, file size
constexpr std::size_t checksum_size = 8;
// The variant's alternatives in order: the type of an entry is its index.
constexpr std::array<const char*, 5> type_names{"text", "float", "double", "32-bit", "64-bit"};
constexpr std::array<std::size_t, 5> element_sizes{1, 4, 8, 4, 8};

std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

void append(std::string& out, const void* data, std::size_t size) {
  if (size > 0) out.append(static_cast<const char*>(data), size);
}

template <class Number>
void append(std::string& out, Number number) {
  append(out, &number, sizeof number);
}

void append_padded(std::string& out, const void* data, std::size_t size) {
  append(out, data, size);
  out.append(padded(size) - size, '\0');
}

std::string serialize(const std::map<std::string, Checkpoint::Entry, std::less<>>& entries) {
  std::string out(magic);
  append(out, format_version);
  append(out, static_cast<std::uint32_t>(entries.size()));
  append(out, std::uint64_t{0});  // the file's size, known at the end
  for (const auto& named : entries) {
    const std::string& name = named.first;
    append(out, static_cast<std::uint32_t>(name.size()));
    append(out, static_cast<std::uint32_t>(named.second.index()));
    std::visit(
        [&](const auto& values) {
          append(out, static_cast<std::uint64_t>(values.size()));
          append_padded(out, name.data(), name.size());
          append_padded(out, values.data(), values.size() * sizeof(values[0]));
        },
        named.second);
  }
  const std::uint64_t size = out.size() + checksum_size;
  std::memcpy(out.data() + header_size - sizeof size, &size, sizeof size);
  append(out, static_cast<std::uint64_t>(XXH3_64bits(out.data(), out.size())));
  return out;
}

// Reads numbers and byte runs from the front of the remaining bytes, never past their end.
class Reader {
 public:
  Reader(std::string_view bytes, const std::filesystem::path& path) : left_(bytes), path_(path) {}

  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) fail("ends in the middle of an entry");
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view take_padded(std::uint64_t size) {
    if (size > left_.size()) fail("ends in the middle of an entry");
    return take(padded(size)).substr(0, size);
  }

  std::uint64_t left() const { return left_.size(); }

  [[noreturn]] void fail(std::string_view what) const {
    throw FileError(fmt::format("{} {}", quoted_path(path_), what));
  }

 private:
  std::string_view left_;
  const std::filesystem::path& path_;
};

template <std::size_t type>
Checkpoint::Entry make_entry(std::string_view bytes) {
  std::variant_alternative_t<type, Checkpoint::Entry> values(bytes.size() / element_sizes[type], {});
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Checkpoint::Entry make_entry(std::uint32_t type, std::string_view bytes) {
  switch (type) {
    case 0:
      return make_entry<0>(bytes);
    case 1:
      return make_entry<1>(bytes);
    case 2:
      return make_entry<2>(bytes);
    case 3:
      return make_entry<3>(bytes);
    default:
      return make_entry<4>(bytes);
  }
}

// Checks magic and version in the first bytes alone, so that a large file of another kind is refused at once.
void check_header(std::string_view start, const Reader& reader) {
  if (start.empty() || !start.starts_with(magic.substr(0, std::min(start.size(), magic.size())))) {
    reader.fail("is not an ignd checkpoint");
  }
  if (start.size() < header_size) reader.fail("is truncated: it is shorter than a header");
  std::uint32_t version = 0;
  std::memcpy(&version, start.data() + magic.size(), sizeof version);
  if (version != format_version) {
    reader.fail(fmt::format("has format version {}, but this program reads version {}", version, format_version));
  }
}

void check_size_and_checksum(std::string_view bytes, const Reader& reader) {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + header_size - sizeof size, sizeof size);
  if (size != bytes.size() || size < header_size + checksum_size) {
    reader.fail(fmt::format("is {}: it has {} bytes and should have {}", bytes.size() < size ? "truncated" : "damaged",
                            bytes.size(), size));
  }
  std::uint64_t checksum = 0;
  const std::size_t body = bytes.size() - checksum_size;
  std::memcpy(&checksum, bytes.data() + body, sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), body)) reader.fail("is damaged: its checksum does not match its content");
}

}  // namespace

void Checkpoint::set(std::string name, std::string text) { entries_[std::move(name)] = std::move(text); }

void Checkpoint::set(std::string name, std::uint64_t number) {
  entries_[std::move(name)] = std::vector<std::uint64_t>{number};
}

void Checkpoint::set(const std::string& name, const RandomStream& stream) {
  entries_["stream." + name] = std::vector<std::uint64_t>{stream.state().key, stream.state().position};
}

namespace {

template <class Kind>
const Kind& find(const std::map<std::string, Checkpoint::Entry, std::less<>>& entries, std::string_view name) {
  const auto found = entries.find(name);
  if (found == entries.end()) throw FileError(fmt::format("the checkpoint has no entry {}", in_quotes(name)));
  const auto* value = std::get_if<Kind>(&found->second);
  if (value == nullptr) {
    throw FileError(fmt::format("the checkpoint's entry {} has the wrong type, {}", in_quotes(name),
                                type_names[found->second.index()]));
  }
  return *value;
}

}  // namespace

const std::string& Checkpoint::text(std::string_view name) const& { return find<std::string>(entries_, name); }

std::uint64_t Checkpoint::number(std::string_view name) const { return array<std::uint64_t>(name, 1)[0]; }

template <class T>
const std::vector<T>& Checkpoint::array(std::string_view name, std::size_t size) const& {
  const auto& values = find<std::vector<T>>(entries_, name);
  if (values.size() != size) {
    throw FileError(
        fmt::format("the checkpoint's entry {} has {} numbers instead of {}", in_quotes(name), values.size(), size));
  }
  return values;
}

RandomStream Checkpoint::stream(std::string_view name) const {
  const auto& state = array<std::uint64_t>(fmt::format("stream.{}", name), 2);
  return RandomStream(RandomStream::State{state[0], state[1]});
}

bool is_checkpoint_file(const std::filesystem::path& path) { return read_file(path, magic.size()) == magic; }

void Checkpoint::write(const std::filesystem::path& path) const { write_file_atomically(path, serialize(entries_)); }

Checkpoint Checkpoint::read(const std::filesystem::path& path) {
  const std::string start = read_file(path, header_size);
  check_header(start, Reader(start, path));
  return from_bytes(read_file(path), path);
}

std::string Checkpoint::to_bytes() const { return serialize(entries_); }

Checkpoint Checkpoint::from_bytes(std::string_view bytes, const std::filesystem::path& name) {
  Reader reader(bytes, name);
  check_header(bytes, reader);
  check_size_and_checksum(bytes, reader);
  reader.take(magic.size() + sizeof format_version);
  const auto entry_count = reader.number<std::uint32_t>();
  reader.take(sizeof(std::uint64_t));

  Checkpoint checkpoint;
  for (std::uint32_t i = 0; i < entry_count; ++i) {
    const auto name_size = reader.number<std::uint32_t>();
    const auto type = reader.number<std::uint32_t>();
    const auto count = reader.number<std::uint64_t>();
    if (type >= element_sizes.size()) reader.fail(fmt::format("has an entry of unknown type {}", type));
    const std::string entry(reader.take_padded(name_size));
    // Divided, not multiplied: a count read from a file may overflow.
    if (count > reader.left() / element_sizes[type])
      reader.fail(fmt::format("has an impossible size for {}", in_quotes(entry)));
    const std::string_view bytes_of_entry = reader.take_padded(count * element_sizes[type]);
    if (!checkpoint.entries_.try_emplace(entry, make_entry(type, bytes_of_entry)).second) {
      reader.fail(fmt::format("has the entry {} twice", in_quotes(entry)));
    }
  }
  if (reader.left() != checksum_size) reader.fail("has bytes that belong to no entry");
  return checkpoint;
}

template const std::vector<float>& Checkpoint::array(std::string_view, std::size_t) const&;
template const std::vector<double>& Checkpoint::array(std::string_view, std::size_t) const&;
template const std::vector<std::uint32_t>& Checkpoint::array(std::string_view, std::size_t) const&;
template const std::vector<std::uint64_t>& Checkpoint::array(std::string_view, std::size_t) const&;

}  // namespace ignd
