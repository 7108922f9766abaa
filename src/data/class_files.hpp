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
  std::string name;       // the path from the source on, with '/'
  std::size_t label = 0;  // which of the classes
  FilePart part = FilePart::none;
};

// A file that is not used, and why.
struct SkippedFile {
  std::string name, fault;
};

// Files that lie in folders named after their class.
struct ClassFiles {
  std::vector<std::string> classes;  // in the order of their bytes; empty: the files have none
  std::vector<ClassFile> files;      // in the order of the bytes of their names
  // What lies beside or below the folders of the classes, for whoever tells of it; nothing where there are parts, whose
  // data sets have more files than those of classes.
  std::vector<SkippedFile> elsewhere;
};

// What a source holds: a folder, or an archive (.zip, .tgz, .tar.gz), which is read in place. Known layouts are
// CLASS/file, and {train,test}/CLASS/file, each as it is or below one common folder. Where there are no folders, the
// files have no class; any other file is a source of one file. What is hidden is ignored, and so is the class "unsup"
// of parts: reviews without a label. Throws FileError where nothing is left.
ClassFiles list_class_files(const std::filesystem::path& source);

// For whoever does not care about classes: all files, wherever they lie, but of a source with parts the same.
ClassFiles list_files(const std::filesystem::path& source);

// Visits the files that were listed, with their place in the list and their content, in the order in which the source
// gives them: an archive has its own, and cannot be read in another without being kept. Throws FileError, also where a
// file is not there any more or is larger than 256 MiB.
using ClassFileVisitor = std::function<void(std::size_t file, std::string_view content)>;
void visit_class_files(const std::filesystem::path& source, const ClassFiles& listed, const ClassFileVisitor& visit);

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
