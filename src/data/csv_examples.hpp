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

// What the columns of a table are for.
struct CsvColumns {
  std::optional<std::string> target = {};  // none: the examples have no label, as those that are to be predicted
  std::optional<std::string> weight = {};
  std::optional<std::vector<std::string>> features = {};  // not given: all the others
  // What the target is: texts, or numbers. By looking at the beginning if not given.
  std::optional<bool> text_target = {};
  // How cells that are not plain numbers are written, as a model knows it. By looking at the beginning if not given.
  std::optional<std::map<std::string, CellFormat>> formats = {};
  std::optional<bool> decimal_comma = {};
  std::vector<std::string> keep = {};  // columns whose fields are kept as they stand
};

// Rows of comma-separated values as examples. A number is a feature of the column's name; a text is a feature of the
// column's name and the text, with value 1, and so is a value that is missing. One line is one row: quoted fields may
// not hold line ends here.
class CsvExampleParser final : public ExampleParser {
 public:
  // The beginning of the file holds the names of the columns and shows what the target is: numbers, or texts. The name
  // is that of the file, for messages. Throws FileError as read_csv_head does, and InvalidArgument if there is no such
  // column.
  CsvExampleParser(std::string_view beginning, const CsvColumns& columns, const CsvDialect& dialect = {},
                   const std::string& name = "the text");

  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;

  bool has_text_target() const { return text_target_; }
  std::vector<std::string> features() const;  // the names of their columns
  const std::string& header_note() const { return header_note_; }
  // Of the columns whose cells are not plain numbers or texts, the target among them.
  std::map<std::string, CellFormat> formats() const;

  // The text of a target that is one, as far as it was read; otherwise the number.
  std::string target_name(double target) const;

 private:
  void look_at_targets(std::string_view rows, bool known);
  void note_label(std::string_view field) const;
  std::string read_target(std::string_view field, double& target) const;

  char delimiter_ = ',';
  std::uint64_t first_line_ = 1;  // below the header
  std::string header_note_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> hashes_;  // of the names
  std::vector<CellFormat> formats_;
  std::vector<bool> is_feature_;
  std::optional<std::size_t> target_, weight_;
  std::vector<std::size_t> keep_;
  bool text_target_ = false;
  mutable std::mutex mutex_;
  mutable std::map<double, std::string> labels_;  // the first few texts of the target
};

}  // namespace ignd
