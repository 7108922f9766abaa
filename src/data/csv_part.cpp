#include "data/csv_part.hpp"

#include "data/number.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

CsvPart::CsvPart(const std::vector<CsvColumn>& columns, char delimiter)
    : columns_(columns),
      delimiter_(delimiter),
      row_(delimiter),
      labels_(columns.size()),
      not_numbers_(columns.size(), false),
      guesses_(columns.size()),
      unfit_(columns.size()),
      unfit_cells_(columns.size()) {
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
  if (room_ < most) {
    values_ = std::make_unique_for_overwrite<double[]>(most);
    room_ = most;
  }
  count_ = 0;
  line_ = first_line;
  fault_.reset();
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
  const std::size_t last = kinds_.size() - 1;
  for (std::size_t c = 0; c <= last; ++c, ++value) {
    const char* stop = nullptr;
    if (kinds_[c] == ColumnKind::number) stop = read_number(at, end, *value);
    if (stop == nullptr || stop == end || *stop != (c < last ? delimiter_ : '\n')) {
      if (at < end && *at == '"') return nullptr;
      stop = at;
      while (stop < end && *stop != delimiter_ && *stop != '\n') ++stop;
      if (stop == end || *stop != (c < last ? delimiter_ : '\n')) return nullptr;
      *value = field_value(c, {at, stop});
    }
    at = stop + 1;
  }
  count_ += kinds_.size();
  ++line_;
  if (!unfit_in_row_.empty()) count_unfit();
  return at;
}

const char* CsvPart::any_row(const char* at, const char* end, bool all) {
  unfit_in_row_.clear();  // of the attempt to read it as a plain row
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
    fault_ = Fault{
        line_, fmt::format("has {} field{} instead of {}", row_.size(), row_.size() == 1 ? "" : "s", kinds_.size())};
    return next;
  }
  for (std::size_t c = 0; c < kinds_.size(); ++c) values_[count_++] = field_value(c, row_[c]);
  line_ += row_.lines();
  if (!unfit_in_row_.empty()) count_unfit();
  return next;
}

void CsvPart::count_unfit() {
  for (auto& [column, cell] : unfit_in_row_) {
    if (unfit_[column]++ == 0) unfit_cells_[column] = std::move(cell);
  }
  unfit_in_row_.clear();
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

// A cell that is not what its column was taken for.
double CsvPart::misfit(std::size_t column, std::string_view field) {
  if (columns_[column].given) {
    unfit_in_row_.emplace_back(column, trimmed(field));
    return missing;
  }
  not_numbers_[column] = true;
  changed_ = true;
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
