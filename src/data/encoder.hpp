#pragma once

#include "data/table.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace ignd {

class Checkpoint;

// How one column becomes features. Everything is measured on the training rows and on nothing else.
struct ColumnCode {
  enum class Form {
    dropped,  // it says nothing: no feature
    scaled,   // (x - mean) / deviation, cut off far from the mean; 0 where it is missing or infinite
    one_hot,  // a feature for each text, 1 where it is that
    hashed,   // the same with texts that share features: there are too many
    date,     // elapsed time and year, scaled; month, weekday, day of the year and time of day, each as sine and cosine
  };
  enum class DropReason {
    constant,  // it has the same value everywhere
    empty,     // it has no value anywhere, or no finite one
    ids,       // nearly every row has its own text
  };
  // What of a date differs between the training rows; the rest gives no features.
  struct Calendar {
    double first = 0, last = 0;  // seconds since 1970
    double year_mean = 0;
    double year_deviation = 0;  // 0: all rows are of one year
    bool month = false, weekday = false, day_of_year = false, time_of_day = false;
  };
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Form form = Form::dropped;
  DropReason reason = DropReason::constant;
  CellFormat format = {};  // how its numbers are written in a file
  // Training rows without a value, or with an infinite one; if there are any, a feature says so.
  std::uint64_t missing = 0;
  double mean = 0;
  bool mostly_mean = false;  // almost all training rows have the mean itself, to be said
  double deviation = 1;      // 0: whether there is a value is all the column says
  // Numbers farther from the mean than this, in deviations, count as this far.
  double farthest = default_farthest;
  static constexpr double default_farthest = 6;
  std::vector<std::string> levels = {};  // the texts of one_hot
  std::uint64_t distinct = 0;            // of a text column, how many there were
  Calendar calendar = {};                // of dates; mean and deviation are those of the seconds

  std::size_t features() const;
};

// Where the columns of an encoder are in a table.
struct ColumnPlace {
  std::size_t column = 0;
  ColumnKind kind = ColumnKind::number;
};

// How numbers are scaled.
enum class NumberScaling {
  robust,   // what is far out neither stretches the scale nor goes beyond 6 deviations
  standard  // by the mean and the standard deviation of all values, as they are; a column of 0 and 1 is left alone
};

struct EncoderOptions {
  bool use_ids = false;  // columns of ids, which are dropped otherwise
  NumberScaling scaling = NumberScaling::robust;
};

// Turns rows of a table into the inputs of a model.
class Encoder {
 public:
  // Texts with more different values than this in the training rows share `hash_features` features.
  static constexpr std::size_t most_levels = 64;
  static constexpr std::size_t hash_features = 64;
  // Where robust scaling cuts numbers off: a network that has seen one such row, or none, would predict anything there
  // (docs/tool.md has what that costs).
  static constexpr double farthest = ColumnCode::default_farthest;
  // A text column is one of ids if more than this share of the training rows have a text of their own, and there are
  // enough of them to tell. At most one row in twenty could then learn from another with its text, and hashing gives
  // features that are noise.
  static constexpr double share_of_ids = 0.95;
  static constexpr std::size_t least_ids = 100;

  Encoder() = default;
  // For the given columns of the table.
  static Encoder fit(const Table& table, std::span<const std::size_t> columns, std::span<const std::uint32_t> rows,
                     const EncoderOptions& options = {});

  std::size_t features() const { return features_; }
  const std::vector<ColumnCode>& columns() const { return columns_; }

  // Finds its columns in a table that may have others besides, in any order. Throws InvalidArgument, naming every
  // column that is not there or holds texts, or numbers of another meaning, where there were numbers.
  std::vector<ColumnPlace> match(const Table& table) const;

  // Writes the features of a row to `out`; `at` is what match() gave. Returns how many values were texts that the
  // training rows did not have. A number where there were texts is the text that is its shortest; for the text as it
  // was, read the table with text_columns() as TableOptions::texts.
  std::size_t encode(std::span<const double> row, std::span<const ColumnPlace> at, std::span<float> out) const;
  std::vector<std::string> text_columns() const;
  // The formats of columns that were not plain numbers, for TableOptions::formats.
  std::map<std::string, CellFormat> formats() const;

  void save(Checkpoint& checkpoint) const;
  static Encoder load(const Checkpoint& checkpoint);

 private:
  explicit Encoder(std::vector<ColumnCode> columns);

  std::vector<ColumnCode> columns_;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> levels_;  // of each column, by code
  std::size_t features_ = 0;
};

}  // namespace ignd
