#pragma once

#include "data/cell_format.hpp"
#include "data/csv.hpp"
#include "data/example_parser.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// The roles of the columns.
struct CsvColumns {
  std::optional<std::string> target = {};  // none: the examples have no label, as in prediction
  std::optional<std::string> weight = {};
  std::optional<std::vector<std::string>> features = {};  // not given: all the others
  // Whether the target is text. If not given, the first rows decide.
  std::optional<bool> text_target = {};
  // The formats of cells that are not plain numbers, as a model has learned them. If not given, the first rows decide.
  std::optional<std::map<std::string, CellFormat>> formats = {};
  std::optional<bool> decimal_comma = {};
  std::vector<std::string> keep = {};  // columns whose fields are passed through unchanged
};

// Append the features of one cell, as CsvExampleParser does for every row. `column` is the hash of the column's name.
// The number is that of a plain cell; a date must be given as text.
std::uint64_t column_hash(std::string_view name);
void append_cell(std::uint64_t column, const CellFormat& format, std::string_view cell, ExampleBlock& block);
void append_cell(std::uint64_t column, double number, ExampleBlock& block);

// What the features of a cell are called, by their indices: "size", "town=Ulm", "size is missing", "day: month sine".
std::map<std::uint32_t, std::string> cell_features(const std::string& column, const CellFormat& format,
                                                   std::string_view cell);

// Reads rows of comma-separated values as examples. A number is a feature named after its column; a text is a feature
// named after column and text, with value 1, and so is a missing value. Every row is one line: quoted fields must not
// contain line ends.
class CsvExampleParser final : public ExampleParser {
 public:
  // `beginning` holds the header and enough rows to tell whether the target is numbers or texts; `name` is the file's,
  // for messages. Throws FileError as read_csv_head does, and InvalidArgument for an unknown column.
  CsvExampleParser(std::string_view beginning, const CsvColumns& columns, const CsvDialect& dialect = {},
                   const std::string& name = "the text");

  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;

  bool has_text_target() const { return text_target_; }
  std::vector<std::string> features() const;  // their column names
  const std::string& header_note() const { return header_note_; }
  // The formats of columns that are neither plain numbers nor texts, including the target.
  std::map<std::string, CellFormat> formats() const;

  // The text of a text target, if it has been read already; otherwise the number.
  std::string target_name(double target) const;

 private:
  void look_at_targets(std::string_view rows, bool known);
  void note_label(std::string_view field) const;
  std::string read_target(std::string_view field, double& target) const;

  char delimiter_ = ',';
  std::uint64_t first_line_ = 1;  // below the header
  std::string header_note_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> hashes_;  // of the column names
  std::vector<CellFormat> formats_;
  std::vector<bool> is_feature_;
  std::optional<std::size_t> target_, weight_;
  std::vector<std::size_t> keep_;
  bool text_target_ = false;
  mutable std::mutex mutex_;
  mutable std::map<double, std::string> labels_;  // the first few texts of the target
};

}  // namespace ignd
