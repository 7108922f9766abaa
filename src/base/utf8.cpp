#include "base/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ignd {
namespace {

// How many bytes must follow a first byte, and the range of the next one, which excludes overlong forms, surrogates and
// values beyond Unicode.
struct Lead {
  std::size_t more;
  unsigned char low, high;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {0, 0, 0};
  if (first >= 0xc2 && first <= 0xdf) return {1, 0x80, 0xbf};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {2, 0x80, 0xbf};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {3, 0x80, 0xbf};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {1, 0xff, 0};  // not a first byte: nothing may follow
}

}  // namespace

Utf8Character character_at(std::string_view text) {
  Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  for (std::size_t i = 1; i <= lead.more; ++i) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    if (byte < lead.low || byte > lead.high) return {i, false};
    lead.low = 0x80;
    lead.high = 0xbf;
  }
  return {lead.more + 1, true};
}

namespace {

std::size_t ascii_prefix(std::string_view text) {
  std::size_t size = 0;
  for (std::uint64_t bytes = 0; size + sizeof bytes <= text.size(); size += sizeof bytes) {
    std::memcpy(&bytes, text.data() + size, sizeof bytes);
    if ((bytes & 0x8080808080808080) != 0) break;
  }
  return size;
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t size = ascii_prefix(text);
  while (size < text.size()) {
    const Utf8Character character = character_at(text.substr(size));
    if (!character.whole) break;
    size += character.size;
    if (character.size > 1) size += ascii_prefix(text.substr(size));
  }
  return size;
}

}  // namespace

std::string_view repaired_utf8(std::string_view text, std::string& buffer) {
  std::size_t valid = valid_prefix(text);
  if (valid == text.size()) return text;
  buffer.clear();
  while (valid < text.size()) {
    buffer.append(text.substr(0, valid));
    buffer.append("\xef\xbf\xbd");
    text.remove_prefix(valid + character_at(text.substr(valid)).size);
    valid = valid_prefix(text);
  }
  return buffer.append(text);
}

}  // namespace ignd
