#include "data/csv_parser.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "data/csv.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// Visits the first rows of a text until `visit` returns false.
template <class Visit>
void visit_rows(std::string_view beginning, char delimiter, Visit visit) {
  constexpr int rows = 1000;
  CsvRow row(delimiter);
  const char* at = beginning.data();
  const char* end = at + beginning.size();
  for (int i = 0; i < rows && at < end; ++i) {
    at = row.split(at, end, false);
    if (at == nullptr || !visit(row)) return;
  }
}

// Whether a plain number proves that the point is the decimal mark: three digits after it might be thousands.
bool shows_point(std::string_view number) {
  const std::size_t point = number.find('.');
  return point != std::string_view::npos && trim(number).size() - point != 4;
}

}  // namespace

ColumnPlan::ColumnPlan(std::set<std::string, std::less<>> texts, std::map<std::string, CellFormat> formats,
                       std::optional<bool> decimal_comma)
    : texts_(std::move(texts)), given_(std::move(formats)), decimal_comma_(decimal_comma) {}

std::vector<CsvColumn> ColumnPlan::columns(const std::vector<std::string>& names, std::string_view beginning,
                                           char delimiter) {
  std::vector<bool> plain(names.size(), true);
  visit_rows(beginning, delimiter, [&](const CsvRow& row) {
    for (std::size_t c = 0; c < std::min(names.size(), row.size()); ++c) {
      double value = 0;
      if (plain[c] && !is_number(row[c], value) && !is_missing(row[c])) plain[c] = false;
    }
    return true;
  });
  const std::vector<FormatGuess> guesses = guess_formats(plain, beginning, delimiter);
  std::vector<CsvColumn> columns(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) columns[c] = column(names[c], plain[c], guesses[c]);
  return columns;
}

void ColumnPlan::watch(const std::string& name) {
  if (decided_.erase(name) > 0) {
    texts_.insert(name);
  } else {
    watched_.insert(name);
  }
}

std::optional<CellFormat> ColumnPlan::decide(const FormatGuess& guess) const {
  const auto format = guess.decide(decimal_comma_, comma_in_file_);
  if (format && !format->is_date() && decimal_comma_.value_or(format->comma) != format->comma) return std::nullopt;
  return format;
}

std::string ColumnPlan::doubt(const FormatGuess& guess) const {
  const auto comma = guess.shown_comma();
  if (!comma || *comma == decimal_comma_.value_or(*comma)) return guess.why();
  return fmt::format("its numbers have a decimal {}, which --decimal excludes", *comma ? "comma" : "point");
}

std::vector<FormatGuess> ColumnPlan::guess_formats(const std::vector<bool>& plain, std::string_view beginning,
                                                   char delimiter) {
  std::vector<FormatGuess> guesses(plain.size());
  bool point = false;
  visit_rows(beginning, delimiter, [&](const CsvRow& row) {
    bool alive = false;
    for (std::size_t c = 0; c < std::min(plain.size(), row.size()); ++c) {
      if (plain[c]) {
        point = point || shows_point(row[c]);
      } else if (guesses[c].is_alive()) {
        if (!is_missing(row[c])) guesses[c].add(row[c]);
        alive = alive || guesses[c].is_alive();
      }
    }
    return alive;
  });
  bool comma = false;
  for (const FormatGuess& guess : guesses) {
    const auto shown = guess.shown_comma();
    point = point || !shown.value_or(true);
    comma = comma || shown.value_or(false);
  }
  comma_in_file_ = point == comma ? std::nullopt : std::optional(comma);
  return guesses;
}

CsvColumn ColumnPlan::column(const std::string& name, bool plain, const FormatGuess& guess) const {
  constexpr auto number = ColumnKind::number;
  if (texts_.contains(name)) return {.kind = ColumnKind::text};
  const auto given = given_.find(name);
  if (given != given_.end()) return {.kind = number, .format = given->second, .given = true};
  const auto decided = decided_.find(name);
  if (decided != decided_.end()) return {.kind = number, .format = decided->second};
  if (watched_.contains(name)) return {.kind = ColumnKind::text, .watched = true};
  if (plain && decimal_comma_.value_or(false)) {
    return {.kind = number, .format = {.kind = CellFormat::Kind::number, .comma = true}};
  }
  if (plain) return {};
  if (const auto format = decide(guess)) return {.kind = number, .format = *format};
  return {.kind = ColumnKind::text, .watched = guess.is_alive()};
}

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr const char* remedy = "; --bad-rows skip ignores such rows";

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
  // Each field except the last is followed by a byte, so this is enough for any text.
  const std::size_t most = text.size() + kinds_.size();
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

// The fast path: a row of one line without quotes. Null for any other row, or an incomplete one, of which no values are
// kept; labels are, which does no harm.
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
    if (keeps_ && rules_.keep[c]) kept_.emplace_back(trim({at, stop}));
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
    if (keeps_ && rules_.keep[c]) kept_.emplace_back(trim(row_[c]));
  }
  end_row(row_.lines());
  return next;
}

// Completes a row with the right number of fields.
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

// A row with a wrong number of fields keeps its place, with missing values.
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

// Handles a cell that contradicts its column's format. If a model has fixed the format, the row is bad.
double CsvPart::misfit(std::size_t column, std::string_view field) {
  if (!columns_[column].given) {
    not_numbers_[column] = true;
    changed_ = true;
  } else if (bad_field_.empty()) {
    bad_field_ = fmt::format("column {} is {}, not a {}", in_quotes(rules_.names[column]), in_quotes(trim(field)),
                             columns_[column].format.describe());
  }
  return missing;
}

double CsvPart::text_value(std::size_t column, std::string_view field) {
  if (columns_[column].kind == ColumnKind::number) return formatted_value(column, field);
  if (is_missing(field)) return missing;
  if (columns_[column].watched && guesses_[column].is_alive()) guesses_[column].add(field);
  const std::string_view text = trim(field);
  const std::uint64_t code = text_code(text);
  Labels& known = labels_[column];
  // One label more than the limit shows that there are too many.
  if (known.size() <= most_labels && !known.contains(code)) known.emplace(code, text);
  return static_cast<double>(code);
}

}  // namespace ignd
