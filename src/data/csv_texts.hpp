#pragma once

#include "data/csv.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Called with the number of a row, from 1 below the header, and its fields.
using CsvVisitor = std::function<void(std::uint64_t row, std::span<const std::string_view> fields)>;

// Visits the rows of comma-separated values with the fields of some columns as they stand there: a Table keeps no
// texts. Gzip or not; "-" is the standard input. Returns what there is to say of a header that was guessed. Throws
// FileError, and InvalidArgument for a column that is not there.
std::string visit_csv(const std::string& path, const CsvDialect& dialect, const std::vector<std::string>& columns,
                      const CsvVisitor& visit);

}  // namespace ignd
