#pragma once

#include "data/cell_format.hpp"
#include "data/table.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// How to read a column of comma-separated values.
struct CsvColumn {
  ColumnKind kind = ColumnKind::number;
  CellFormat format = {};  // of numbers
  bool given = false;      // the format holds, whatever the cells are
  bool watched = false;    // a text column that may turn out to be something else
};

// What the columns of a file are. The first rows decide, so that it need not be read again for every column that is
// not plain numbers. Where later rows say something else, it is read again, and the plan is told what was found.
class ColumnPlan {
 public:
  // The formats are those of a model, and hold; the decimal mark is what the user says it is.
  ColumnPlan(std::set<std::string, std::less<>> texts, std::map<std::string, CellFormat> formats,
             std::optional<bool> decimal_comma);

  std::vector<CsvColumn> columns(const std::vector<std::string>& names, std::string_view beginning, char delimiter);

  // A column was taken for numbers of some kind, and has other cells: the next time all of them are looked at.
  void watch(const std::string& name);

  // What all cells of a column say; then the next time the column is that.
  std::optional<CellFormat> decide(const FormatGuess& guess) const;
  void take(const std::string& name, const CellFormat& format) { decided_[name] = format; }

  // Why a column that looks like numbers or dates is texts; mostly empty.
  std::string doubt(const FormatGuess& guess) const;

 private:
  std::vector<FormatGuess> guess_formats(const std::vector<bool>& plain, std::string_view beginning, char delimiter);
  CsvColumn column(const std::string& name, bool plain, const FormatGuess& guess) const;

  std::set<std::string, std::less<>> texts_;
  std::map<std::string, CellFormat> given_;
  std::optional<bool> decimal_comma_;
  std::set<std::string, std::less<>> watched_;
  std::map<std::string, CellFormat> decided_;
  std::optional<bool> comma_in_file_;  // not given: it shows no decimal mark, or both
};

}  // namespace ignd
