#pragma once

#include "base/pinned.hpp"
#include "data/byte_source.hpp"
#include "data/csv_examples.hpp"
#include "data/example_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

enum class ExampleFormat { csv, svmlight, vw };

// A format of data as users name it. A new format is a row of the table, and a parser (data/example_parser.hpp).
struct FormatInfo {
  std::string name;
  ExampleFormat format;
  std::string line = {};     // what a line looks like, for messages; of formats that can be recognised by one
  bool makes_tables = true;  // or it is for streams only
  char delimiter = '\0';     // of comma-separated values, if the name says which
  std::unique_ptr<ExampleParser> (*make_parser)() = nullptr;  // none: it needs the names of columns
};

// In the order in which formats are recognised. Where several names are one format, the first is its own.
const std::vector<FormatInfo>& format_table();
const FormatInfo& format_info(ExampleFormat format);
const FormatInfo* find_format(std::string_view name);  // null: there is none
std::vector<std::string> format_names();

// For formats without columns.
std::unique_ptr<ExampleParser> make_example_parser(ExampleFormat format);

// From the first bytes of a file, cut off anywhere. None if no line looks like one of a known format.
std::optional<ExampleFormat> guess_example_format(std::string_view first_bytes);

// How many threads are useful for parsing on this machine.
unsigned useful_threads();

struct ExampleReaderOptions {
  unsigned threads = 1;  // including the caller's: with 1, blocks are read on demand; the others read ahead
  BadRows bad_rows = BadRows::stop;
  std::size_t block_size = LineBlocks::default_size;  // in bytes of text
  std::optional<CsvColumns> columns = {};             // of a CSV file; if not given, the file is not CSV
  CsvDialect dialect = {};
  int interruption = -1;  // a descriptor: once it is readable, waiting for input ends the stream
};

// Reads the examples of a file block by block. Neither the examples nor the place of an error depend on the number of
// threads.
class ExampleReader : Pinned {
 public:
  // "-" is standard input. If no format is given, the first lines decide. Throws FileError.
  ExampleReader(const std::string& path, std::optional<ExampleFormat> format, const ExampleReaderOptions& options = {});
  ExampleReader(std::unique_ptr<ByteSource> source, std::optional<ExampleFormat> format,
                const ExampleReaderOptions& options = {});
  ~ExampleReader();

  // Replaces the content of the block by the next examples, at least one; false at the end. Throws FileError after
  // delivering all examples before the fault, and again on every later call.
  bool next(ExampleBlock& block);

  ExampleFormat format() const;

  // A label as written in the file.
  std::string target_name(double target) const;
  bool has_text_target() const;
  std::vector<std::string> features() const;  // the columns of a CSV file
  std::string header_note() const;            // see HeaderGuess::note
  std::map<std::string, CellFormat> formats() const;

  // The number of rows skipped so far; complete once next() has returned false.
  std::uint64_t skipped_rows() const { return skipped_; }
  const std::optional<RowFault>& first_skipped() const { return first_skipped_; }

 private:
  class Blocks;
  class ReadAhead;

  std::unique_ptr<Blocks> blocks_;
  std::unique_ptr<ReadAhead> ahead_;  // none with one thread
  std::uint64_t skipped_ = 0;
  std::optional<RowFault> first_skipped_;
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace ignd
