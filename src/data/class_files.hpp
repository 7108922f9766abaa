#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

enum class FilePart { none, train, test };

struct ClassFile {
  std::string name;       // path relative to the source, with '/'
  std::size_t label = 0;  // index of its class
  FilePart part = FilePart::none;
};

// A file that is not used, and why.
struct SkippedFile {
  std::string name, fault;
};

// Files in folders named after their class.
struct ClassFiles {
  std::vector<std::string> classes;  // sorted by bytes; empty: the files have no class
  std::vector<ClassFile> files;      // sorted by the bytes of their names
  // Files outside the class folders, to be reported. Empty if there are train and test folders: such data sets contain
  // other files as well.
  std::vector<SkippedFile> elsewhere;
};

// Lists a folder or an archive (.zip, .tgz, .tar.gz), which is read in place; any other file is a source of one file.
// Known layouts are CLASS/file and {train,test}/CLASS/file, also below one common folder. Without folders, the files
// have no class. Ignores hidden files, and below train and test the class "unsup" (IMDB's reviews without a label).
// Throws FileError if nothing is left.
ClassFiles list_class_files(const std::filesystem::path& source);

// Throws InvalidArgument unless there are two classes or more.
void check_classes(const std::vector<std::string>& classes);

// Lists all files wherever they lie, without classes. A source with train and test folders is listed as above.
ClassFiles list_files(const std::filesystem::path& source);

// Visits the listed files, with their index in the list and their content, in the order of the source: an archive can
// only be read in its own order. Throws FileError, also if a file has vanished or is larger than 256 MiB.
using ClassFileVisitor = std::function<void(std::size_t file, std::string_view content)>;
void visit_class_files(const std::filesystem::path& source, const ClassFiles& listed, const ClassFileVisitor& visit);

enum class SampleKind { images, texts };

// Whether the source is a folder or an archive: each sample is a file.
bool holds_files(const std::filesystem::path& source);

bool is_text_name(std::string_view name);   // *.txt
bool is_table_name(std::string_view name);  // *.csv or *.tsv, or either with .gz

// Throws FileError for a folder or an archive that holds tables: a table is a single file.
void refuse_tables_in(const std::filesystem::path& source);

// Tells the kind of the files by their names, or by their first bytes if no name tells. Throws FileError if they are
// both or neither.
SampleKind kind_of_files(const std::filesystem::path& source);

}  // namespace ignd
