#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Small vocabularies for tests of the tokenizer, and byte-pair encoding as its definition has it.
namespace ignd::testing {

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) text += i <= bytes.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

using Ranks = std::map<std::string, std::uint32_t, std::less<>>;

inline std::string rank_file(const Ranks& ranks) {
  std::string text;
  for (const auto& [token, rank] : ranks) text += base64(token) + ' ' + std::to_string(rank) + '\n';
  return text;
}

// Every single byte; more[i] has the rank 256 + i.
inline Ranks ranks_with(const std::vector<std::string>& more) {
  Ranks ranks;
  for (unsigned byte = 0; byte < 256; ++byte) ranks.emplace(std::string(1, static_cast<char>(byte)), byte);
  for (const std::string& token : more) ranks.emplace(token, static_cast<std::uint32_t>(ranks.size()));
  return ranks;
}

// Quadratic, and with nothing in it that could be wrong.
inline void merge_naively(const Ranks& ranks, std::string_view piece, std::vector<std::uint32_t>& ids) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    std::optional<std::pair<std::uint32_t, std::size_t>> lowest;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found != ranks.end() && (!lowest || found->second < lowest->first)) lowest = {found->second, i};
    }
    if (!lowest) break;
    const std::size_t at = lowest->second;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  for (const std::string& part : parts) ids.push_back(ranks.find(part)->second);
}

}  // namespace ignd::testing
