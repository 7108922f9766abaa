#include "data/class_files.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "data/archive.hpp"
#include "data/image.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

using Folders = std::set<std::string, std::less<>>;

// Archives are visited file by file, so only a single file can exhaust memory.
const ArchiveLimits limits{.total = std::uint64_t{1} << 40};

constexpr int most_folders = 3;  // above a file: top/part/class

[[noreturn]] void fail(const fs::path& source, std::string_view what) {
  throw FileError(fmt::format("{} {}", quoted_path(source), what));
}

// The folders above a file, outermost first: views of its name.
using Around = std::vector<std::string_view>;

Around folders_of(std::string_view name) {
  Around parts = split(name, '/');
  parts.pop_back();
  return parts;
}

bool is_hidden(std::string_view name) { return name.starts_with('.') || name.find("/.") != std::string_view::npos; }

bool is_part(std::string_view folder) { return folder == "train" || folder == "test"; }

std::vector<std::string> names_in_folder(const fs::path& source) {
  std::vector<std::string> names;
  std::error_code fault;
  fs::recursive_directory_iterator entry(source, fs::directory_options::follow_directory_symlink, fault);
  for (; !fault && entry != fs::recursive_directory_iterator(); entry.increment(fault)) {
    std::error_code vanished;
    const bool hidden = is_hidden(entry->path().filename().native());
    // Also breaks cycles of symbolic links.
    if (hidden || entry.depth() >= most_folders) entry.disable_recursion_pending();
    if (hidden || !entry->is_regular_file(vanished)) continue;
    if (names.size() == limits.count) fail(source, fmt::format("holds more than {} files", limits.count));
    names.push_back(entry->path().lexically_relative(source).generic_string());
  }
  if (fault) fail(source, "cannot be listed: " + fault.message());
  return names;
}

std::vector<std::string> names_in_archive(const fs::path& source) {
  std::vector<std::string> names;
  const auto note = [&](std::string_view name) {
    if (!is_hidden(name) && std::ranges::count(name, '/') <= most_folders) names.emplace_back(name);
    return false;
  };
  visit_members(
      source, source.filename().string(), note, [](const std::string&, std::string_view) {}, limits);
  return names;
}

// The folders at depth `at` with at least `more` levels of folders below them.
Folders folders_at(std::span<const Around> paths, std::size_t at, std::size_t more) {
  Folders found;
  for (const auto& folders : paths) {
    if (folders.size() > at + more) found.emplace(folders[at]);
  }
  return found;
}

bool has_parts(std::span<const Around> paths, std::size_t at) {
  const Folders outer = folders_at(paths, at, 1);
  return std::ranges::any_of(outer, is_part);
}

// How many folders lie above the class folders, and whether the last of them is train or test.
struct Layout {
  std::size_t around = 0;
  bool parts = false;
};

std::optional<Layout> find_layout(std::span<const Around> paths) {
  const Folders top = folders_at(paths, 0, 0);
  if (top.empty()) return {};
  if (has_parts(paths, 0)) return Layout{1, true};
  const bool below_one_folder = top.size() == 1 && !folders_at(paths, 0, 1).empty();
  if (!below_one_folder) return Layout{0, false};
  return has_parts(paths, 1) ? Layout{2, true} : Layout{1, false};
}

// The class of a file in this layout; none if the layout does not cover the file.
std::optional<std::string_view> class_of(const Around& folders, const Layout& layout) {
  if (folders.size() != layout.around + 1) return {};
  if (!layout.parts) return folders.back();
  if (!is_part(folders[layout.around - 1]) || folders.back() == "unsup") return {};
  return folders.back();
}

FilePart part_of(const Around& folders, const Layout& layout) {
  if (!layout.parts) return FilePart::none;
  return folders[layout.around - 1] == "train" ? FilePart::train : FilePart::test;
}

ClassFiles without_classes(std::span<const std::string> names) {
  ClassFiles found;
  for (const std::string& name : names) found.files.push_back({.name = name});
  return found;
}

ClassFiles with_classes(std::span<const std::string> names, std::span<const Around> paths, const Layout& layout) {
  Folders classes;
  for (const auto& folders : paths) {
    if (const auto name = class_of(folders, layout)) classes.emplace(*name);
  }
  ClassFiles found{.classes = {classes.begin(), classes.end()}, .files = {}, .elsewhere = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = class_of(paths[i], layout);
    if (!name && !layout.parts) {
      found.elsewhere.push_back({names[i], quoted_path(names[i]) + " is not in a class folder"});
    }
    if (!name) continue;
    const auto place = std::ranges::lower_bound(found.classes, *name);
    const auto label = static_cast<std::size_t>(place - found.classes.begin());
    found.files.push_back({names[i], label, part_of(paths[i], layout)});
  }
  return found;
}

void visit_folder(const fs::path& source, const ClassFiles& listed, const ClassFileVisitor& visit) {
  for (std::size_t i = 0; i < listed.files.size(); ++i) {
    const fs::path path = source / listed.files[i].name;
    const std::string content = read_file(path, limits.member + 1);
    if (content.size() > limits.member) fail(path, fmt::format("is larger than {} bytes", limits.member));
    visit(i, content);
  }
}

void visit_archive(const fs::path& source, const ClassFiles& listed, const ClassFileVisitor& visit) {
  const auto place_of = [&](std::string_view name) {
    return std::ranges::lower_bound(listed.files, name, {}, &ClassFile::name);
  };
  const auto wanted = [&](std::string_view name) {
    const auto place = place_of(name);
    return place != listed.files.end() && place->name == name;
  };
  std::size_t visited = 0;
  const auto visit_member = [&](const std::string& name, std::string_view content) {
    visit(static_cast<std::size_t>(place_of(name) - listed.files.begin()), content);
    ++visited;
  };
  visit_members(source, source.filename().string(), wanted, visit_member, limits);
  if (visited != listed.files.size()) fail(source, "changed while it was read; start again");
}

ClassFiles list(const fs::path& source, bool by_class) {
  std::error_code fault;
  std::vector<std::string> names = fs::is_directory(source, fault) ? names_in_folder(source) : names_in_archive(source);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    fail(source, fmt::format("holds {} twice", in_quotes(*twice)));
  }
  std::vector<Around> paths;
  paths.reserve(names.size());
  for (const std::string& name : names) paths.push_back(folders_of(name));

  const auto layout = find_layout(paths);
  const bool in_classes = layout && (by_class || layout->parts);
  ClassFiles found = in_classes ? with_classes(names, paths, *layout) : without_classes(names);
  if (found.files.empty()) {
    fail(source, by_class ? "holds no files where they are expected; put them into one folder per class: CLASS/file"
                          : "holds no files");
  }
  return found;
}

}  // namespace

ClassFiles list_class_files(const fs::path& source) { return list(source, true); }
ClassFiles list_files(const fs::path& source) { return list(source, false); }

void visit_class_files(const fs::path& source, const ClassFiles& listed, const ClassFileVisitor& visit) {
  std::error_code fault;
  if (fs::is_directory(source, fault)) {
    visit_folder(source, listed, visit);
  } else {
    visit_archive(source, listed, visit);
  }
}

namespace {

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
  visit_class_files(source, listed,
                    [&](std::size_t /*file*/, std::string_view content) { found = found || is_image(content); });
  return found;
}

// If a source holds tables, says so and what to do. Otherwise empty.
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

void check_classes(const std::vector<std::string>& classes) {
  if (classes.empty()) {
    throw InvalidArgument("there are no classes; put the files of each into a folder of its own: CLASS/file");
  }
  if (classes.size() > 1) return;
  throw InvalidArgument(fmt::format("there is 1 class: {}, but two are needed", classes[0]));
}

}  // namespace ignd
