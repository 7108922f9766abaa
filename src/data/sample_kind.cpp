#include "data/sample_kind.hpp"

#include "base/text.hpp"
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

// Where a source holds tables: that it does, and what to do. Otherwise empty.
std::string describe_tables(const fs::path& source, const ClassFiles& listed) {
  const auto first = std::ranges::find_if(listed.files, is_table_name, &ClassFile::name);
  if (first == listed.files.end()) return "";
  const auto tables = std::ranges::count_if(listed.files, is_table_name, &ClassFile::name);
  const std::string others = tables > 1 ? fmt::format(" and {} more", tables - 1) : "";
  std::error_code fault;
  if (!fs::is_directory(source, fault)) {
    return fmt::format("{} is an archive with the table {}{}; unpack it and name one file", quoted_path(source),
                       in_quotes(first->name), others);
  }
  return fmt::format("{} is a folder with the table {}{}; name one file{}", quoted_path(source), in_quotes(first->name),
                     others, tables > 1 ? ", or join those that have the same columns" : "");
}

}  // namespace

void refuse_tables_in(const fs::path& source) {
  if (!holds_files(source)) return;
  if (const std::string tables = describe_tables(source, list_files(source)); !tables.empty()) throw FileError(tables);
}

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
  if (const std::string tables = describe_tables(source, listed); !tables.empty()) throw FileError(tables);
  throw FileError(fmt::format("{} holds neither images (JPEG or PNG) nor texts (*.txt): the first of its files is {}",
                              quoted_path(source), in_quotes(listed.files.front().name)));
}

}  // namespace ignd
