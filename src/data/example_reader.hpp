#pragma once

#include "base/pinned.hpp"
#include "data/byte_source.hpp"
#include "data/csv_examples.hpp"
#include "data/example_parser.hpp"
#include "data/text_blocks.hpp"

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

enum class ExampleFormat { svmlight, vw, csv };

// Of a format that needs no header: not csv.
std::unique_ptr<ExampleParser> make_example_parser(ExampleFormat format);

// From the front of a file, which may end anywhere. None if it looks like no format that we read.
std::optional<ExampleFormat> guess_example_format(std::string_view first_bytes);

struct ExampleReaderOptions {
  unsigned threads = 1;  // with the caller's: 1 reads a block when it is asked for, the others read ahead
  BadRows bad_rows = BadRows::stop;
  std::size_t block_size = LineBlocks::default_size;  // in bytes of text
  std::optional<CsvColumns> columns = {};             // of a file of comma-separated values; without, it is none
  CsvDialect dialect = {};
  int interruption = -1;  // a descriptor: once it can be read from, a stream that gives nothing ends
};

// The examples of a file, block by block. They are the same, and an error comes behind the same example, with any
// number of threads.
class ExampleReader : Pinned {
 public:
  // "-" is the standard input. Without a format it is guessed from the first lines. Throws FileError.
  ExampleReader(const std::string& path, std::optional<ExampleFormat> format, const ExampleReaderOptions& options = {});
  ExampleReader(std::unique_ptr<ByteSource> source, std::optional<ExampleFormat> format,
                const ExampleReaderOptions& options = {});
  ~ExampleReader();

  // Replaces what is in the block by the next examples, at least one; false at the end. Throws FileError once all
  // examples before the fault were given, and again whenever it is asked again.
  bool next(ExampleBlock& block);

  ExampleFormat format() const;

  // A label as it stands in the file.
  std::string target_name(double target) const;
  bool has_text_target() const;
  std::vector<std::string> features() const;  // the columns, of comma-separated values
  std::string header_note() const;            // that of a HeaderGuess
  std::map<std::string, CellFormat> formats() const;

  // How many rows were skipped so far. All of them are counted once next() has returned false.
  std::uint64_t skipped_rows() const { return skipped_; }

 private:
  class Blocks;
  class ReadAhead;

  std::unique_ptr<Blocks> blocks_;
  std::unique_ptr<ReadAhead> ahead_;  // none with one thread
  std::uint64_t skipped_ = 0;
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace ignd
