#include "data/sample_kind.hpp"

#include "core/text.hpp"
#include "data/archive.hpp"
#include "data/class_files.hpp"
#include "data/jpeg_image.hpp"
#include "data/png_image.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

bool ends_with_word(std::string_view name, std::string_view end) {
  const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return name.size() >= end.size() &&
         std::equal(name.end() - static_cast<std::ptrdiff_t>(end.size()), name.end(), end.begin(), is_same);
}

bool is_image_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> ends{".jpg", ".jpeg", ".png"};
  return std::ranges::any_of(ends, [&](std::string_view end) { return ends_with_word(name, end); });
}

bool has_image_bytes(const fs::path& source, const ClassFiles& listed) {
  bool found = false;
  visit_class_files(source, listed, [&](std::size_t /*file*/, std::string_view content) {
    found = found || is_jpeg(content) || is_png(content);
  });
  return found;
}

}  // namespace

bool holds_files(const fs::path& source) {
  std::error_code fault;
  return fs::is_directory(source, fault) || is_archive(source.filename().string());
}

bool is_text_name(std::string_view name) { return ends_with_word(name, ".txt"); }

bool is_table_name(std::string_view name) {
  constexpr std::string_view endings[]{".csv", ".tsv", ".csv.gz", ".tsv.gz"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return ends_with_word(name, ending); });
}

SampleKind kind_of_files(const fs::path& source) {
  const ClassFiles listed = list_class_files(source);
  const auto image = std::ranges::find_if(listed.files, is_image_name, &ClassFile::name);
  const auto text = std::ranges::find_if(listed.files, is_text_name, &ClassFile::name);
  const bool images = image != listed.files.end();
  const bool texts = text != listed.files.end();
  if (images && texts) {
    throw FileError(fmt::format("{} holds images and texts, {} and {} among them; train on one kind at a time",
                                quoted_path(source), in_quotes(image->name), in_quotes(text->name)));
  }
  if (images || (!texts && has_image_bytes(source, listed))) return SampleKind::images;
  if (texts) return SampleKind::texts;
  throw FileError(fmt::format("{} holds neither images (JPEG or PNG) nor texts (*.txt): the first of its files is {}",
                              quoted_path(source), in_quotes(listed.files.front().name)));
}

}  // namespace ignd
