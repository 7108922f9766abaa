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

void visit_rows(std::string_view beginning, char delimiter, const RowVisitor& visit) {
  CsvRow row(delimiter);
  std::vector<std::string_view> fields;
  const char* at = beginning.data();
  const char* end = at + beginning.size();
  for (std::size_t i = 0; i < first_row_count && at < end; ++i) {
    at = row.split(at, end, false);
    if (at == nullptr) return;
    fields.clear();
    for (std::size_t c = 0; c < row.size(); ++c) fields.push_back(row[c]);
    if (!visit(fields)) return;
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
  return columns(names, [&](const RowVisitor& visit) { visit_rows(beginning, delimiter, visit); });
}

std::vector<CsvColumn> ColumnPlan::columns(const std::vector<std::string>& names, const FirstRows& first_rows) {
  std::vector<bool> plain(names.size(), true);
  first_rows([&](std::span<const std::string_view> row) {
    for (std::size_t c = 0; c < std::min(names.size(), row.size()); ++c) {
      double value = 0;
      if (plain[c] && !is_number(row[c], value) && !is_missing(row[c])) plain[c] = false;
    }
    return true;
  });
  const std::vector<FormatGuess> guesses = guess_formats(plain, first_rows);
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

std::vector<FormatGuess> ColumnPlan::guess_formats(const std::vector<bool>& plain, const FirstRows& first_rows) {
  std::vector<FormatGuess> guesses(plain.size());
  bool point = false;
  first_rows([&](std::span<const std::string_view> row) {
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

}  // namespace

double CellReader::read(std::string_view field, std::string& fault) {
  if (column_.kind == ColumnKind::number) {
    double value = missing;
    if (!is_plain()) {
      if (const auto formatted = column_.format.read(field)) return *formatted;
    } else if (is_number(field, value)) {
      return value;
    }
    return is_missing(field) ? missing : misfit(field, fault);
  }
  if (is_missing(field)) return missing;
  if (column_.watched && guess_.is_alive()) guess_.add(field);
  return read_category(trim(field));
}

double CellReader::read_category(std::string_view text) {
  const std::uint64_t code = text_code(text);
  // One label more than the limit shows that there are too many.
  if (labels_.size() <= most_labels && !labels_.contains(code)) labels_.emplace(code, text);
  return static_cast<double>(code);
}

// Handles a cell that contradicts its column's format. If a model has fixed the format, the row is bad.
double CellReader::misfit(std::string_view field, std::string& fault) {
  if (!column_.given) {
    not_numbers_ = true;
  } else if (fault.empty()) {
    fault =
        fmt::format("column {} is {}, not a {}", in_quotes(name_), in_quotes(trim(field)), column_.format.describe());
  }
  return missing;
}

CsvPart::CsvPart(const std::vector<CsvColumn>& columns, char delimiter, Rules rules)
    : delimiter_(delimiter),
      rules_(std::move(rules)),
      keeps_(std::ranges::find(rules_.keep, true) != rules_.keep.end()),
      row_(delimiter) {
  rules_.keep.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    readers_.emplace_back(columns[c], rules_.names[c]);
    plain_.push_back(readers_[c].is_plain() ? 1 : 0);
  }
}

std::size_t CsvPart::parse(std::string_view text, bool all, std::uint64_t first_line) {
  // Each field except the last is followed by a byte, so this is enough for any text.
  const std::size_t most = text.size() + plain_.size();
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
  const std::size_t last = plain_.size() - 1;
  for (std::size_t c = 0; c <= last; ++c, ++value) {
    const char* stop = nullptr;
    if (plain_[c] != 0) stop = read_number(at, end, *value);
    if (stop == nullptr || stop == end || *stop != (c < last ? delimiter_ : '\n')) {
      stop = at;
      while (stop < end && *stop != delimiter_ && *stop != '\n') ++stop;
      if ((at < end && *at == '"') || stop == end || *stop != (c < last ? delimiter_ : '\n')) {
        kept_.resize(kept);
        return nullptr;
      }
      *value = readers_[c].read({at, stop}, bad_field_);
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
  if (row_.blank() && plain_.size() > 1) {
    line_ += row_.lines();
    return next;
  }
  if (row_.in_quotes()) {
    fault_ = Fault{line_, "opens quotes that are never closed"};
    return next;
  }
  if (row_.size() != plain_.size()) {
    std::string what =
        fmt::format("has {} field{} instead of {}", row_.size(), row_.size() == 1 ? "" : "s", plain_.size());
    if (rules_.skip_bad_rows) {
      skip_row(std::move(what));
      line_ += row_.lines();
    } else {
      fault_ = Fault{line_, what + bad_row_remedy};
    }
    return next;
  }
  bad_field_.clear();
  make_room(count_ + plain_.size());
  for (std::size_t c = 0; c < plain_.size(); ++c) {
    values_[count_ + c] = readers_[c].read(row_[c], bad_field_);
    if (keeps_ && rules_.keep[c]) kept_.emplace_back(trim(row_[c]));
  }
  end_row(row_.lines());
  return next;
}

// Completes a row with the right number of fields.
void CsvPart::end_row(std::uint64_t lines) {
  if (!bad_field_.empty() && !rules_.skip_bad_rows) {
    fault_ = Fault{line_, bad_field_ + bad_row_remedy, true};
    return;
  }
  if (!bad_field_.empty()) {
    if (bad_rows_.empty()) first_bad_ = Fault{line_, std::move(bad_field_), true};
    bad_rows_.push_back(rows());
  }
  count_ += plain_.size();
  line_ += lines;
}

// A row with a wrong number of fields keeps its place, with missing values.
void CsvPart::skip_row(std::string what) {
  if (bad_rows_.empty()) first_bad_ = Fault{line_, std::move(what)};
  bad_rows_.push_back(rows());
  make_room(count_ + plain_.size() + 1);
  std::fill_n(values_.get() + count_, plain_.size(), missing);
  count_ += plain_.size();
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

}  // namespace ignd
