#pragma once

#include <filesystem>
#include <string_view>

namespace ignd {

enum class SampleKind { images, texts };

// A folder or an archive: a source of samples that are files each.
bool holds_files(const std::filesystem::path& source);

bool is_text_name(std::string_view name);   // *.txt
bool is_table_name(std::string_view name);  // *.csv or *.tsv, or either with .gz

// Throws FileError for a folder or an archive that tables lie in: a table is one file.
void refuse_tables_in(const std::filesystem::path& source);

// What the files of a source are, by their names; where no name says it, by the first bytes of the files. Throws
// FileError where they are both or neither.
SampleKind kind_of_files(const std::filesystem::path& source);

}  // namespace ignd
