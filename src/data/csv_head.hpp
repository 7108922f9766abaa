#pragma once

#include "data/csv.hpp"
#include "data/text_window.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// The beginning of a text of comma-separated values: what the rest has to be read by.
struct CsvHead {
  char delimiter = ',';
  bool header = false;
  std::vector<std::string> names;  // of the columns: c1, c2, ... where there is no header
  std::uint64_t line = 1;          // the first that is left
  std::string header_note = {};    // that of a HeaderGuess
};

// Reads the head of a text, and drops it: what is left are rows. What the dialect leaves open is guessed. Throws
// FileError, with the line, and InvalidArgument for a delimiter that cannot be one.
CsvHead read_csv_head(TextWindow& text, const CsvDialect& dialect);

// Where a column is. Throws InvalidArgument, and offers the nearest name there is, or the note on the header.
std::size_t find_column(std::span<const std::string> names, std::string_view column, std::string_view header_note = {});

// How many bytes to look at where so many do not hold the whole row. Throws FileError where that is too long for one.
std::size_t more_bytes(std::size_t bytes, const TextWindow& text, std::uint64_t line);

}  // namespace ignd
