#include "data/data_file.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/class_files.hpp"
#include "data/example_reader.hpp"
#include "ignd/error.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {

namespace fs = std::filesystem;

std::string DataFile::name() const {
  if (frame != nullptr) return "the table";
  return path == "-" ? "the standard input" : quoted_path(path);
}

CsvDialect DataFile::dialect() const {
  CsvDialect dialect;
  const FormatInfo* const named = find_format(format);
  if (delimiter == "tab") {
    dialect.delimiter = '\t';
  } else if (delimiter.empty() && named != nullptr && named->delimiter != '\0') {
    dialect.delimiter = named->delimiter;
  } else if (delimiter.size() == 1 && delimiter != "\"" && delimiter != "\n" && delimiter != "\r") {
    dialect.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    throw InvalidArgument(
        fmt::format("the delimiter is {}, but must be one character that is neither a quote nor a "
                    "line end, or the word tab",
                    in_quotes(delimiter)));
  }
  dialect.header = header;
  dialect.asked_for = columns;
  return dialect;
}

Table DataFile::read(TableOptions options) const {
  options.dialect = dialect();
  options.threads = useful_threads();
  if (decimal_comma) {
    options.decimal_comma = decimal_comma;
    for (auto& [name, column] : options.formats) {
      if (column.kind == CellFormat::Kind::plain && *decimal_comma) column.kind = CellFormat::Kind::number;
      column.comma = *decimal_comma;
    }
  }
  if (frame != nullptr) return Table::of_frame(*frame, options);
  const FormatInfo* const named = find_format(format);
  if (named != nullptr && !named->makes_tables) {
    throw InvalidArgument(fmt::format("files in the format {} are for train --stream and its models", format));
  }
  refuse_model(path);
  refuse_tables_in(path);
  if (named != nullptr && named->format == ExampleFormat::svmlight) {
    if (decimal_comma) throw InvalidArgument("--decimal is for comma-separated values");
    if (!options.keep.empty()) throw InvalidArgument("--keep cannot be used with svmlight, which has no such columns");
    return Table::read_svmlight(path, options);
  }
  const bool is_csv = !format.empty() || options.dialect.delimiter || options.dialect.header || options.decimal_comma;
  return is_csv ? Table::read_csv(path, options) : Table::read(path, options);
}

void DataFile::refuse_without_target() const {
  constexpr const char* question = "name the column to predict with --target";
  if (frame != nullptr) throw InvalidArgument("name the column to predict as the target");
  refuse_model(path);
  refuse_tables_in(path);
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) throw InvalidArgument(question);
  constexpr std::size_t enough = std::size_t{1} << 18;
  TextWindow beginning(open_bytes(path));
  beginning.fill(enough);
  if (guess_example_format(beginning.text()) == ExampleFormat::svmlight) {
    throw InvalidArgument(fmt::format("{}; in svmlight files it is called label", question));
  }
  throw InvalidArgument(question + list_columns(beginning.text(), dialect()));
}

void refuse_model(const std::string& path) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) return;
  constexpr std::string_view magic = "\x89IGND";
  if (read_file(path, magic.size()) != magic) return;
  throw FileError(fmt::format("{} is a model, not data; are the two in the right order?", quoted_path(path)));
}

}  // namespace ignd
