#pragma once

#include "ignd/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ignd {

// Through which a layer says which rows of its tables it is about to read, each table by its number in row_tables().
struct RowAnnouncer {
  RowReader* reader = nullptr;  // null where nobody asks
  std::size_t first_table = 0;

  void operator()(std::size_t table, std::span<const std::uint32_t> rows) const {
    if (reader != nullptr) reader->about_to_read(first_table + table, rows);
  }
};

}  // namespace ignd
