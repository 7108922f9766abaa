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

// How one column becomes features. Everything is fitted on the training rows only.
struct ColumnCode {
  enum class Form {
    dropped,  // no feature
    scaled,   // (x - mean) / deviation, clipped far from the mean; 0 if missing or infinite
    one_hot,  // one feature per text
    hashed,   // too many texts for one_hot: they share features by hash
    date,     // elapsed time and year, scaled; month, weekday, day of the year and time of day, each as sine and cosine
  };
  enum class DropReason {
    constant,  // the same value in every row
    empty,     // no finite value in any row
    ids,       // nearly every row has its own text
  };
  // Which parts of a date vary over the training rows; the others give no features.
  struct Calendar {
    double first = 0, last = 0;  // seconds since 1970
    double year_mean = 0;
    double year_deviation = 0;  // 0: all rows are in the same year
    bool month = false, weekday = false, day_of_year = false, time_of_day = false;
  };
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Form form = Form::dropped;
  DropReason reason = DropReason::constant;
  CellFormat format = {};  // how its numbers are written
  // Number of training rows with a missing or infinite value; if not 0, a feature marks such rows.
  std::uint64_t missing = 0;
  double mean = 0;
  bool mostly_mean = false;  // almost all training rows have the mean itself; for messages
  double deviation = 1;      // 0: the column only tells whether there is a value
  // Numbers are clipped this many deviations from the mean.
  double farthest = default_farthest;
  static constexpr double default_farthest = 6;
  // Numbers also become piecewise-linear features: between each two neighbours of these, how far along the number is,
  // as a number from -1/2 to 1/2; 0 if it is missing. In increasing order; none, or at least three.
  std::vector<double> edges = {};
  std::vector<std::string> levels = {};  // the texts of one_hot
  std::uint64_t distinct = 0;            // number of different texts
  Calendar calendar = {};                // of dates; mean and deviation are in seconds

  std::size_t features() const;
  std::size_t pieces() const { return edges.empty() ? 0 : edges.size() - 1; }
};

// Where a column of the encoder is in a table.
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
  // Piecewise-linear features of each column of numbers, at most: fewer where there are many columns, or few different
  // values. 0: none.
  std::size_t pieces = 0;
  // Texts of a column that get a feature each, at most; a column with more hashes them.
  std::size_t levels = 64;
};

// The edges of at most `pieces` pieces for numbers like these: all different values if they are few. Otherwise values
// that are more frequent than a piece should be are edges, and the others are quantiles of the rest, so that a common
// value does not leave one piece to all others. Empty where there would be one piece only, which is the number itself.
std::vector<double> piece_edges(std::vector<double> values, std::size_t pieces);

// Turns rows of a table into the inputs of a model.
class Encoder {
 public:
  static constexpr std::size_t hash_features = 64;  // that the texts of a column share if they are too many
  // Piecewise-linear features of all columns together: one for this many training rows, within these limits; and the
  // least of one column if that leaves it fewer.
  static constexpr std::size_t rows_of_a_piece = 32, few_pieces = 128, many_pieces = 512, least_pieces = 8;
  // Where robust scaling clips numbers: a network that has seen at most one such row may predict anything there
  // (docs/tool.md tells what clipping costs).
  static constexpr double farthest = ColumnCode::default_farthest;
  // A text column holds ids if more than this share of the training rows have a text of their own, and there are enough
  // rows to tell. At most one row in twenty could then learn from another one, and hashed features would be noise.
  static constexpr double share_of_ids = 0.95;
  static constexpr std::size_t least_ids = 100;

  Encoder() = default;
  // Fits the given columns on the given rows.
  static Encoder fit(const Table& table, std::span<const std::size_t> columns, std::span<const std::uint32_t> rows,
                     const EncoderOptions& options = {});

  std::size_t features() const { return features_; }
  const std::vector<ColumnCode>& columns() const { return columns_; }

  // Finds its columns in a table, which may have them in any order and others as well. Throws InvalidArgument with all
  // columns that are missing, or hold texts or another kind of numbers where training had numbers.
  std::vector<ColumnPlace> match(const Table& table) const;

  // Writes the features of a row to `out`; `at` comes from match(). Returns the number of texts that training has not
  // seen. A number in a text column counts as its shortest text; to get the original text, read the table with
  // text_columns() as TableOptions::texts.
  std::size_t encode(std::span<const double> row, std::span<const ColumnPlace> at, std::span<float> out) const;
  std::vector<std::string> text_columns() const;
  // The formats of columns that are not plain numbers, for TableOptions::formats.
  std::map<std::string, CellFormat> formats() const;

  void save(Checkpoint& checkpoint) const;
  static Encoder load(const Checkpoint& checkpoint);

 private:
  explicit Encoder(std::vector<ColumnCode> columns);

  std::vector<ColumnCode> columns_;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> levels_;  // of each column: index by text code
  std::size_t features_ = 0;
};

}  // namespace ignd
