#include "data/checksum.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>

#include <fmt/format.h>
#include <fnmatch.h>
#include <openssl/evp.h>

namespace ignd {
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
