#include "data/csv_part.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr const char* remedy = "; --bad-rows skip passes over such rows";

}  // namespace

CsvPart::CsvPart(const std::vector<CsvColumn>& columns, char delimiter, Rules rules)
    : columns_(columns),
      delimiter_(delimiter),
      rules_(std::move(rules)),
      keeps_(std::ranges::find(rules_.keep, true) != rules_.keep.end()),
      row_(delimiter),
      labels_(columns.size()),
      not_numbers_(columns.size(), false),
      guesses_(columns.size()) {
  rules_.keep.resize(columns.size());
  for (const CsvColumn& column : columns) {
    const bool plain = column.kind == ColumnKind::number && column.format.kind == CellFormat::Kind::plain;
    kinds_.push_back(plain ? ColumnKind::number : ColumnKind::text);
  }
}

std::size_t CsvPart::parse(std::string_view text, bool all, std::uint64_t first_line) {
  // Every field but the text's last has a byte behind it: there is room for whatever the text may hold.
#if IGND_PLANTED_BUG == 6
  const std::size_t most = text.size() / 2;
#else
  const std::size_t most = text.size() + kinds_.size();
#endif
  count_ = 0;
  make_room(most);
  line_ = first_line;
  fault_.reset();
  bad_rows_.clear();
  first_bad_.reset();
  kept_.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const char* next = plain_row(at, end);
    if (next == nullptr) next = any_row(at, end, all);
    if (next == nullptr || fault_) break;
    at = next;
  }
  return static_cast<std::size_t>(at - text.data());
}

// A row of one line without quotes, which is what most rows are. Null if it is anything else, or not complete; then
// no row of it has been kept; texts it named are, and do no harm.
const char* CsvPart::plain_row(const char* at, const char* end) {
  double* value = values_.get() + count_;
  bad_field_.clear();
  const std::size_t kept = kept_.size();
  const std::size_t last = kinds_.size() - 1;
  for (std::size_t c = 0; c <= last; ++c, ++value) {
    const char* stop = nullptr;
    if (kinds_[c] == ColumnKind::number) stop = read_number(at, end, *value);
    if (stop == nullptr || stop == end || *stop != (c < last ? delimiter_ : '\n')) {
      stop = at;
      while (stop < end && *stop != delimiter_ && *stop != '\n') ++stop;
      if ((at < end && *at == '"') || stop == end || *stop != (c < last ? delimiter_ : '\n')) {
        kept_.resize(kept);
        return nullptr;
      }
      *value = field_value(c, {at, stop});
    }
    if (keeps_ && rules_.keep[c]) kept_.emplace_back(trimmed({at, stop}));
    at = stop + 1;
  }
  end_row(1);
  return at;
}

const char* CsvPart::any_row(const char* at, const char* end, bool all) {
  const char* next = row_.split(at, end, all);
  if (next == nullptr) return nullptr;
  if (row_.blank() && kinds_.size() > 1) {
    line_ += row_.lines();
    return next;
  }
  if (row_.in_quotes()) {
    fault_ = Fault{line_, "opens quotes that are never closed"};
    return next;
  }
  if (row_.size() != kinds_.size()) {
    std::string what =
        fmt::format("has {} field{} instead of {}", row_.size(), row_.size() == 1 ? "" : "s", kinds_.size());
    if (rules_.skip_bad_rows) {
      skip_row(std::move(what));
      line_ += row_.lines();
    } else {
      fault_ = Fault{line_, what + remedy};
    }
    return next;
  }
  bad_field_.clear();
  make_room(count_ + kinds_.size());
  for (std::size_t c = 0; c < kinds_.size(); ++c) {
    values_[count_ + c] = field_value(c, row_[c]);
    if (keeps_ && rules_.keep[c]) kept_.emplace_back(trimmed(row_[c]));
  }
  end_row(row_.lines());
  return next;
}

// A row of the right number of fields, whose values and kept fields are there.
void CsvPart::end_row(std::uint64_t lines) {
  if (!bad_field_.empty() && !rules_.skip_bad_rows) {
    fault_ = Fault{line_, bad_field_ + remedy, true};
    return;
  }
  if (!bad_field_.empty()) {
    if (bad_rows_.empty()) first_bad_ = Fault{line_, std::move(bad_field_), true};
    bad_rows_.push_back(rows());
  }
  count_ += kinds_.size();
  line_ += lines;
}

// A row of another number of fields: it stays in its place, without values.
void CsvPart::skip_row(std::string what) {
  if (bad_rows_.empty()) first_bad_ = Fault{line_, std::move(what)};
  bad_rows_.push_back(rows());
  make_room(count_ + kinds_.size() + 1);
  std::fill_n(values_.get() + count_, kinds_.size(), missing);
  count_ += kinds_.size();
  kept_.resize(kept_.size() + static_cast<std::size_t>(std::ranges::count(rules_.keep, true)));
}

void CsvPart::make_room(std::size_t values) {
  if (values <= room_) return;
  const std::size_t room = std::max(values, room_ + room_ / 2);
  auto larger = std::make_unique_for_overwrite<double[]>(room);
  std::copy_n(values_.get(), count_, larger.get());
  values_ = std::move(larger);
  room_ = room;
}

double CsvPart::field_value(std::size_t column, std::string_view field) {
  if (kinds_[column] == ColumnKind::text) return text_value(column, field);
  double value = missing;
  if (!is_number(field, value) && !is_missing(field)) return misfit(column, field);
  return value;
}

double CsvPart::formatted_value(std::size_t column, std::string_view field) {
  if (const auto value = columns_[column].format.read(field)) return *value;
  return is_missing(field) ? missing : misfit(column, field);
}

// A cell that is not what its column was taken for. Where a model knows what the column is, the row is bad.
double CsvPart::misfit(std::size_t column, std::string_view field) {
  if (!columns_[column].given) {
    not_numbers_[column] = true;
    changed_ = true;
  } else if (bad_field_.empty()) {
    bad_field_ = fmt::format("column {} is {}, not a {}", in_quotes(rules_.names[column]), in_quotes(trimmed(field)),
                             columns_[column].format.describe());
  }
  return missing;
}

double CsvPart::text_value(std::size_t column, std::string_view field) {
  if (columns_[column].kind == ColumnKind::number) return formatted_value(column, field);
  if (is_missing(field)) return missing;
  if (columns_[column].watched && guesses_[column].is_alive()) guesses_[column].add(field);
  const std::string_view text = trimmed(field);
  const std::uint64_t code = text_code(text);
  Labels& known = labels_[column];
  // One more than are kept in the end: it tells that there are too many.
  if (known.size() <= most_labels && !known.contains(code)) known.emplace(code, text);
  return static_cast<double>(code);
}

}  // namespace ignd
