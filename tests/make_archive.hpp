#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

// Small archives for tests.
namespace ignd::testing {

using Members = std::vector<std::pair<std::string, std::string>>;

// A .zip or a .tar.gz, by its name. A member whose name ends in '/' is a folder.
inline void make_archive(const std::filesystem::path& path, const Members& members) {
  archive* writer = archive_write_new();
  if (path.extension() == ".zip") {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_pax_restricted(writer);
  }
  bool good = archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK;
  archive_entry* entry = archive_entry_new();
  for (const auto& [name, content] : members) {
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    // A name beyond ASCII is a warning in the C locale.
    good = good && archive_write_header(writer, entry) >= ARCHIVE_WARN;
    good =
        good && archive_write_data(writer, content.data(), content.size()) == static_cast<la_ssize_t>(content.size());
  }
  archive_entry_free(entry);
  good = archive_write_close(writer) == ARCHIVE_OK && good;
  archive_write_free(writer);
  if (!good) throw std::runtime_error("cannot make an archive for the test");
}

inline void write_text(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace ignd::testing
