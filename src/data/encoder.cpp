#include "data/encoder.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Form = ColumnCode::Form;
using DropReason = ColumnCode::DropReason;

// Fits a column of numbers: first the range, then the spread. A few outliers would stretch the spread until all other
// values look the same, so it is measured again as long as clipping them changes it much.
//
// If almost all rows share one value, repeated clipping would remove all others. Then the spread is that of the other
// values around the common one.
class NumberFit {
 public:
  explicit NumberFit(NumberScaling scaling = NumberScaling::robust) : scaling_(scaling) {}

  void find_range(double x) {
    if (!std::isfinite(x)) {
      ++missing_;
      return;
    }
    indicator_ = indicator_ && (x == 0 || x == 1);
    low_ = std::min(low_, x);
    high_ = std::max(high_, x);
    // Boyer-Moore majority vote: finds the value that more than half of the rows have, if there is one.
    if (votes_ == 0) common_ = x;
    votes_ += x == common_ ? 1 : -1;
  }

  void begin_spread() {
    // Scale by a power of two, which is exact, so that squares neither overflow nor underflow.
    constexpr int largest_shift = 1000;
    const double largest = std::max(std::abs(low_), std::abs(high_));
    open_ = varies();
    if (open_) unit_ = std::ldexp(1, std::max(std::ilogb(largest), -largest_shift));
  }

  bool is_open() const { return open_; }

  // Welford's update: with sums of squares, large values would cancel a small spread.
  void add(double x) {
    if (!open_ || !std::isfinite(x)) return;
    if (x == common_) {
      ++common_count_;
      if (dominated_) return;
    }
    ++count_;
    const double scaled = std::clamp(x / unit_, low_cut_, high_cut_);
    if (dominated_) {
      squares_ += (scaled - middle_) * (scaled - middle_);
      return;
    }
    const double from_old = scaled - mean_;
    mean_ += from_old / static_cast<double>(count_);
    squares_ += from_old * (scaled - mean_);
  }

  // Finishes the column, or clips the outliers and starts another pass.
  void end_spread() {
    if (!open_) return;
    constexpr double about_the_same = 0.9;
    const double before = deviation_;
    const double measured = std::sqrt(squares_ / static_cast<double>(count_));
    if (scaling_ == NumberScaling::standard && measured > 0) {
      deviation_ = measured;
      middle_ = mean_;
      open_ = false;
      return;
    }
    if (!dominated_ && is_dominated()) {
      dominated_ = true;
      middle_ = common_ / unit_;
      begin_pass();
      return;
    }
    if (measured == 0) {  // the squares underflow: keep the last deviation
      if (std::isinf(deviation_)) deviation_ = (high_ / unit_ - low_ / unit_) / 2;
      open_ = false;
      return;
    }
    deviation_ = measured;
    if (!dominated_) middle_ = mean_;
    const double reach = Encoder::farthest * deviation_;
    const bool far = low_ / unit_ < middle_ - reach || high_ / unit_ > middle_ + reach;
    open_ = far && deviation_ < about_the_same * before;
    low_cut_ = middle_ - reach;
    high_cut_ = middle_ + reach;
    begin_pass();
  }

  ColumnCode code(const std::string& name) const {
    ColumnCode code{.name = name, .kind = ColumnKind::number, .missing = missing_};
    if (varies()) {
      code.form = Form::scaled;
      code.mean = middle_ * unit_;
      code.mostly_mean = dominated_;
      // A typical rare value then lies halfway to the clipping point.
      const double deviation = dominated_ ? deviation_ / (Encoder::farthest / 2) : deviation_;
      code.deviation = std::max(deviation * unit_, std::numeric_limits<double>::denorm_min());
      if (scaling_ == NumberScaling::standard) {
        code.farthest = std::numeric_limits<double>::infinity();
        if (indicator_) code.mean = 0, code.deviation = 1;
      }
    } else if (low_ == high_) {
      code.mean = low_;
      code.deviation = 0;
      if (missing_ > 0) code.form = Form::scaled;
    } else {
      code.reason = DropReason::empty;
    }
    return code;
  }

 private:
  bool varies() const { return low_ < high_; }

  // With a smaller share of other values, each clip at 6 deviations shrinks the deviation to less than 0.9 of the last,
  // 6 * sqrt(share), whatever the values are.
  bool is_dominated() const {
    constexpr double rare = 0.0225;
    return static_cast<double>(count_ - common_count_) < rare * static_cast<double>(count_);
  }

  void begin_pass() {
    count_ = common_count_ = 0;
    mean_ = squares_ = 0;
  }

  NumberScaling scaling_;
  bool indicator_ = true;  // all values are 0 or 1
  std::uint64_t missing_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  double common_ = 0;  // the most frequent value, if more than half of the rows have it
  std::int64_t votes_ = 0;
  double unit_ = 1;
  bool open_ = false;
  bool dominated_ = false;
  double low_cut_ = -std::numeric_limits<double>::infinity();
  double high_cut_ = std::numeric_limits<double>::infinity();
  double middle_ = 0;
  double deviation_ = std::numeric_limits<double>::infinity();
  std::uint64_t count_ = 0;  // of the current pass, like the next three
  std::uint64_t common_count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// Fits the calendar parts of a column of dates; NumberFit fits the elapsed seconds.
class DateFit {
 public:
  void find_range(double x) {
    if (!std::isfinite(x)) return;
    const DateParts parts = date_parts(x);
    if (std::exchange(any_, true)) {
      calendar_.month = calendar_.month || parts.month != one_.month;
      calendar_.weekday = calendar_.weekday || parts.weekday != one_.weekday;
      calendar_.day_of_year = calendar_.day_of_year || parts.day_of_year != one_.day_of_year;
      calendar_.time_of_day = calendar_.time_of_day || parts.second_of_day != one_.second_of_day;
    } else {
      calendar_.first = calendar_.last = x;
      one_ = parts;
    }
    calendar_.first = std::min(calendar_.first, x);
    calendar_.last = std::max(calendar_.last, x);
    year_.find_range(parts.year);
  }

  void begin_spread() { year_.begin_spread(); }
  bool is_open() const { return year_.is_open(); }
  void add(double x) {
    if (year_.is_open() && std::isfinite(x)) year_.add(date_parts(x).year);
  }
  void end_spread() { year_.end_spread(); }

  // Turns the code of a column of numbers into that of dates.
  ColumnCode code(ColumnCode code, const CellFormat& format) const {
    code.format = format;
    code.calendar = calendar_;
    if (code.form != Form::scaled || code.deviation == 0) return code;
    code.form = Form::date;
    const ColumnCode year = year_.code("");
    code.calendar.year_mean = year.mean;
    code.calendar.year_deviation = year.form == Form::scaled ? year.deviation : 0;
    return code;
  }

 private:
  bool any_ = false;
  DateParts one_;
  ColumnCode::Calendar calendar_;
  NumberFit year_;
};

// Fits a column of texts.
class TextFit {
 public:
  void add(double x) {
    constexpr std::size_t most_counted = 100'000;
    if (std::isnan(x)) {
      ++missing_;
    } else if (seen_.size() < most_counted) {
      ++rows_;
      seen_.insert(static_cast<std::uint64_t>(x));
    }
  }

  ColumnCode code(const Column& column, const EncoderOptions& options) const {
    ColumnCode code{.name = column.name, .kind = ColumnKind::text, .missing = missing_, .distinct = seen_.size()};
    if (seen_.empty()) code.reason = DropReason::empty;
    if (seen_.empty() || (seen_.size() == 1 && missing_ == 0)) return code;
    if (!options.use_ids && are_ids()) {
      code.reason = DropReason::ids;
      return code;
    }
    const bool named = std::ranges::all_of(seen_, [&](std::uint64_t text) { return column.labels.contains(text); });
    if (seen_.size() > options.levels || !named) {
      code.form = Form::hashed;
      return code;
    }
    code.form = Form::one_hot;
    for (const std::uint64_t text : seen_) code.levels.push_back(column.labels.at(text));
    std::ranges::sort(code.levels);
    return code;
  }

 private:
  bool are_ids() const {
    return rows_ >= Encoder::least_ids &&
           static_cast<double>(seen_.size()) > Encoder::share_of_ids * static_cast<double>(rows_);
  }

  std::uint64_t missing_ = 0;
  std::uint64_t rows_ = 0;  // that were counted
  std::unordered_set<std::uint64_t> seen_;
};

// Takes the value that most of these sorted values have out of them, if more than a share of 1 / pieces have it, and
// half as many again.
std::optional<double> take_common_value(std::vector<double>& sorted, std::size_t pieces) {
  auto best = sorted.end(), best_end = sorted.end();
  for (auto at = sorted.begin(); at != sorted.end();) {
    const auto end = std::upper_bound(at, sorted.end(), *at);
    if (best == sorted.end() || end - at > best_end - best) best = at, best_end = end;
    at = end;
  }
  const auto count = static_cast<std::size_t>(best_end - best);
  if (2 * count * pieces <= 3 * sorted.size()) return std::nullopt;
  const double value = *best;
  sorted.erase(best, best_end);
  return value;
}

double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double rest = place - static_cast<double>(below);
  return sorted[below] * (1 - rest) + sorted[below + 1] * rest;
}

// Gives the columns of numbers their pieces, from at most so many rows, spread evenly.
void fit_pieces(const Table& table, std::span<const std::size_t> columns, std::span<const std::uint32_t> rows,
                std::size_t pieces, std::span<ColumnCode> codes) {
  constexpr std::size_t most_rows = 100'000;
  const auto has_pieces = [](const ColumnCode& code) { return code.form == Form::scaled && code.deviation > 0; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(codes, has_pieces));
  if (pieces == 0 || count == 0) return;
  const std::size_t all = std::clamp(rows.size() / Encoder::rows_of_a_piece, Encoder::few_pieces, Encoder::many_pieces);
  const std::size_t each = std::min(pieces, std::max(all / count, Encoder::least_pieces));
  const std::size_t read = std::min(rows.size(), most_rows);
  for (std::size_t c = 0; c < codes.size(); ++c) {
    if (!has_pieces(codes[c])) continue;
    std::vector<double> values;
    for (std::size_t i = 0; i < read; ++i) {
      const double x = table[rows[i * rows.size() / read]][columns[c]];
      if (std::isfinite(x)) values.push_back(x);
    }
    codes[c].edges = piece_edges(std::move(values), each);
  }
}

float* encode_pieces(const ColumnCode& code, double x, bool present, float* feature) {
  for (std::size_t k = 0; k < code.pieces(); ++k) {
    const double share = (x - code.edges[k]) / (code.edges[k + 1] - code.edges[k]);
    *feature++ = present ? static_cast<float>(std::clamp(share, 0.0, 1.0) - 0.5) : 0.0F;
  }
  return feature;
}

const char* form_name(Form form) {
  constexpr const char* names[] = {"dropped", "scaled", "one-hot", "hashed", "date"};
  return names[static_cast<std::size_t>(form)];
}

Form form_of(const std::string& name) {
  for (const Form form : {Form::dropped, Form::scaled, Form::one_hot, Form::hashed, Form::date}) {
    if (name == form_name(form)) return form;
  }
  throw FileError(fmt::format("the model has a column of unknown form {}", in_quotes(name)));
}

const char* reason_name(DropReason reason) {
  constexpr const char* names[] = {"constant", "empty", "ids"};
  return names[static_cast<std::size_t>(reason)];
}

DropReason reason_of(const std::string& name) {
  for (const DropReason reason : {DropReason::constant, DropReason::empty, DropReason::ids}) {
    if (name == reason_name(reason)) return reason;
  }
  throw FileError(fmt::format("the model has a column dropped for the unknown reason {}", in_quotes(name)));
}

float scaled(const ColumnCode& code, double x) {
  return static_cast<float>(std::clamp((x - code.mean) / code.deviation, -code.farthest, code.farthest));
}

// Writes the features of a date and returns where they end.
float* encode_date(const ColumnCode& code, double x, float* feature) {
  constexpr double months = 12;
  constexpr double weekdays = 7;
  constexpr double days = 365;
  constexpr double seconds = 86'400;
  const ColumnCode::Calendar& calendar = code.calendar;
  const DateParts parts = date_parts(x);
  *feature++ = scaled(code, x);
  if (calendar.year_deviation > 0) {
    const ColumnCode year{
        .name = {}, .mean = calendar.year_mean, .deviation = calendar.year_deviation, .farthest = code.farthest};
    *feature++ = scaled(year, parts.year);
  }
  // Sine and cosine, because December is as close to January as to November.
  const auto set_cycle = [&](bool differs, double part, double length) {
    if (!differs) return;
    const double angle = 2 * std::numbers::pi * part / length;
    *feature++ = static_cast<float>(std::sin(angle));
    *feature++ = static_cast<float>(std::cos(angle));
  };
  set_cycle(calendar.month, parts.month, months);
  set_cycle(calendar.weekday, parts.weekday, weekdays);
  set_cycle(calendar.day_of_year, parts.day_of_year, days);
  set_cycle(calendar.time_of_day, parts.second_of_day, seconds);
  return feature;
}

std::uint64_t text_of(double x, ColumnKind kind) {
  return kind == ColumnKind::text ? static_cast<std::uint64_t>(x) : text_code(format_number(x));
}

CellFormat format_in(const std::string& spec) {
  try {
    return CellFormat::parse(spec);
  } catch (const InvalidArgument& fault) {
    throw FileError(
        fmt::format("the model has a column in a format that this version does not know: {}", fault.what()));
  }
}

// A well-formed file may still hold what save() would never write.
void check(const ColumnCode& code) {
  const bool of_numbers = code.form == Form::scaled || code.form == Form::date;
  const bool forms_fit = code.form == Form::dropped || (code.kind == ColumnKind::number) == of_numbers;
  const bool scale_fits =
      std::isfinite(code.mean) && std::isfinite(code.deviation) && code.deviation >= 0 && code.farthest > 0;
  constexpr double longest = 1e12;  // more than ten thousand years
  const ColumnCode::Calendar& calendar = code.calendar;
  const bool calendar_fits = std::abs(calendar.first) < longest && std::abs(calendar.last) < longest &&
                             std::isfinite(calendar.year_mean) && std::isfinite(calendar.year_deviation) &&
                             calendar.year_deviation >= 0;
  const bool date_fits = code.form != Form::date || (code.format.is_date() && code.deviation > 0);
  const auto out_of_order = [](double a, double b) { return !(a < b) || !std::isfinite(b - a); };
  const bool edges_fit =
      code.edges.empty() || (code.form == Form::scaled && code.deviation > 0 && code.pieces() > 1 &&
                             std::ranges::adjacent_find(code.edges, out_of_order) == code.edges.end());
  if (forms_fit && scale_fits && calendar_fits && date_fits && edges_fit) return;
  throw FileError(fmt::format("the model has a column {} that cannot be used", in_quotes(code.name)));
}

}  // namespace

std::vector<double> piece_edges(std::vector<double> values, std::size_t pieces) {
  if (values.empty() || pieces < 2) return {};
  std::ranges::sort(values);
  std::vector<double> edges = values;
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  if (edges.size() > pieces + 1) {
    edges = {values.front(), values.back()};
    std::size_t common = 0;
    for (; common < pieces; ++common) {
      const auto value = take_common_value(values, pieces);
      if (!value) break;
      edges.push_back(*value);
    }
    const std::size_t rest = pieces + 1 - common;
    for (std::size_t k = 0; k < rest && !values.empty(); ++k) {
      edges.push_back(quantile(values, rest == 1 ? 0.5 : static_cast<double>(k) / static_cast<double>(rest - 1)));
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }
  // Neighbours so close, or so far apart, that their distance is not a number to divide by.
  const auto too_close = [](double a, double b) { return !std::isfinite(1 / (b - a)) || !std::isfinite(b - a); };
  edges.erase(std::unique(edges.begin(), edges.end(), too_close), edges.end());
  return edges.size() > 2 ? edges : std::vector<double>();
}

std::size_t ColumnCode::features() const {
  const std::size_t flag = missing > 0 ? 1 : 0;
  switch (form) {
    case Form::dropped:
      return 0;
    case Form::scaled:
      return (deviation > 0 ? 1 : 0) + pieces() + flag;
    case Form::one_hot:
      return levels.size() + flag;
    case Form::hashed:
      return Encoder::hash_features + flag;
    case Form::date: {
      std::size_t cycles = 0;
      for (const bool differs : {calendar.month, calendar.weekday, calendar.day_of_year, calendar.time_of_day}) {
        cycles += differs ? 1 : 0;
      }
      return 1 + (calendar.year_deviation > 0 ? 1 : 0) + 2 * cycles + flag;
    }
  }
  return 0;
}

Encoder::Encoder(std::vector<ColumnCode> columns) : columns_(std::move(columns)), levels_(columns_.size()) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (std::uint32_t i = 0; i < columns_[c].levels.size(); ++i) levels_[c][text_code(columns_[c].levels[i])] = i;
    features_ += columns_[c].features();
  }
}

Encoder Encoder::fit(const Table& table, std::span<const std::size_t> columns, std::span<const std::uint32_t> rows,
                     const EncoderOptions& options) {
  std::vector<NumberFit> numbers(columns.size(), NumberFit(options.scaling));
  std::map<std::size_t, DateFit> dates;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (table.columns()[columns[c]].format.is_date()) dates[c];
  }
  std::vector<TextFit> texts(columns.size());
  const auto numeric = [&](std::size_t c) { return table.columns()[columns[c]].kind == ColumnKind::number; };
  // All columns in one pass, since the rows may be on disk.
  for (const std::uint32_t row : rows) {
    const std::span<const double> values = table[row];
    for (std::size_t c = 0; c < columns.size(); ++c) {
      numeric(c) ? numbers[c].find_range(values[columns[c]]) : texts[c].add(values[columns[c]]);
    }
    for (auto& [c, fit] : dates) fit.find_range(values[columns[c]]);
  }
  for (NumberFit& fit : numbers) fit.begin_spread();
  for (auto& [c, fit] : dates) fit.begin_spread();
  const auto date_is_open = [](const auto& date) { return date.second.is_open(); };
  while (std::ranges::any_of(numbers, &NumberFit::is_open) || std::ranges::any_of(dates, date_is_open)) {
    for (const std::uint32_t row : rows) {
      const std::span<const double> values = table[row];
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (numeric(c)) numbers[c].add(values[columns[c]]);
      }
      for (auto& [c, fit] : dates) fit.add(values[columns[c]]);
    }
    for (NumberFit& fit : numbers) fit.end_spread();
    for (auto& [c, fit] : dates) fit.end_spread();
  }
  std::vector<ColumnCode> codes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = table.columns()[columns[c]];
    codes.push_back(numeric(c) ? numbers[c].code(column.name) : texts[c].code(column, options));
    codes.back().format = column.format;
    if (dates.contains(c)) codes.back() = dates[c].code(std::move(codes.back()), column.format);
  }
  fit_pieces(table, columns, rows, options.pieces, codes);
  return Encoder(std::move(codes));
}

std::vector<std::string> Encoder::text_columns() const {
  std::vector<std::string> names;
  for (const ColumnCode& code : columns_) {
    if (code.kind == ColumnKind::text) names.push_back(code.name);
  }
  return names;
}

std::map<std::string, CellFormat> Encoder::formats() const {
  std::map<std::string, CellFormat> formats;
  for (const ColumnCode& code : columns_) {
    if (code.form != Form::dropped && code.format.kind != CellFormat::Kind::plain) formats[code.name] = code.format;
  }
  return formats;
}

std::vector<ColumnPlace> Encoder::match(const Table& table) const {
  std::vector<ColumnPlace> at;
  std::vector<std::string> faults;
  for (const ColumnCode& code : columns_) {
    const auto found = std::ranges::find(table.columns(), code.name, &Column::name);
    const bool there = found != table.columns().end();
    at.push_back(
        {.column = static_cast<std::size_t>(found - table.columns().begin()), .kind = there ? found->kind : code.kind});
    if (code.form == Form::dropped) continue;
    if (!there) {
      faults.push_back(fmt::format("the column {} is missing", in_quotes(code.name)));
    } else if (code.kind == ColumnKind::number && found->kind == ColumnKind::text) {
      faults.push_back(fmt::format("the column {} holds texts, but held numbers in training", in_quotes(code.name)));
    } else if (code.kind == ColumnKind::number && !code.format.means_the_same(found->format)) {
      faults.push_back(fmt::format("the column {} holds {}, but held {} in training", in_quotes(code.name),
                                   found->format.describe(), code.format.describe()));
    }
  }
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
  return at;
}

std::size_t Encoder::encode(std::span<const double> row, std::span<const ColumnPlace> at, std::span<float> out) const {
  std::size_t unknown = 0;
  float* feature = out.data();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ColumnCode& code = columns_[c];
    if (code.form == Form::dropped) continue;
    const double x = row[at[c].column];
    const bool present = std::isfinite(x);
    if (code.form == Form::scaled) {
      if (code.deviation > 0) *feature++ = present ? scaled(code, x) : 0.0F;
      feature = encode_pieces(code, x, present, feature);
    } else if (code.form == Form::date) {
      const std::size_t width = code.features() - (code.missing > 0 ? 1 : 0);
      feature = present ? encode_date(code, x, feature) : std::fill_n(feature, width, 0.0F);
    } else {
      const std::size_t width = code.form == Form::one_hot ? code.levels.size() : hash_features;
      std::fill_n(feature, width, 0.0F);
      const std::uint64_t text = present ? text_of(x, at[c].kind) : 0;
      if (present && code.form == Form::hashed) {
        feature[text % hash_features] = 1;
      } else if (present) {
        const auto level = levels_[c].find(text);
        if (level != levels_[c].end()) feature[level->second] = 1;
        unknown += level == levels_[c].end() ? 1 : 0;
      }
      feature += width;
    }
    if (code.missing > 0) *feature++ = present ? 0.0F : 1.0F;
  }
  return unknown;
}

void Encoder::save(Checkpoint& checkpoint) const {
  checkpoint.set("columns", std::uint64_t{columns_.size()});
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ColumnCode& code = columns_[c];
    const std::string prefix = fmt::format("column.{}.", c);
    checkpoint.set(prefix + "name", code.name);
    checkpoint.set(prefix + "kind", std::string(code.kind == ColumnKind::number ? "number" : "text"));
    checkpoint.set(prefix + "form", std::string(form_name(code.form)));
    if (code.form == Form::dropped) checkpoint.set(prefix + "dropped", std::string(reason_name(code.reason)));
    if (code.mostly_mean) checkpoint.set(prefix + "mostly-mean", std::uint64_t{1});
    if (code.format.kind != CellFormat::Kind::plain) checkpoint.set(prefix + "format", code.format.spec());
    if (code.format.is_date()) {
      const ColumnCode::Calendar& calendar = code.calendar;
      const double range[] = {calendar.first, calendar.last, calendar.year_mean, calendar.year_deviation};
      checkpoint.set(prefix + "calendar", std::span<const double>(range));
      const std::uint64_t parts[] = {calendar.month, calendar.weekday, calendar.day_of_year, calendar.time_of_day};
      checkpoint.set(prefix + "cycles", std::span<const std::uint64_t>(parts));
    }
    if (code.farthest != Encoder::farthest) {
      checkpoint.set(prefix + "farthest", std::span<const double>(&code.farthest, 1));
    }
    const double numbers[] = {code.mean, code.deviation};
    checkpoint.set(prefix + "scale", std::span<const double>(numbers));
    if (!code.edges.empty()) {
      checkpoint.set(prefix + "pieces", std::uint64_t{code.pieces()});
      checkpoint.set(prefix + "edges", std::span<const double>(code.edges));
    }
    const std::uint64_t counts[] = {code.missing, code.distinct, code.levels.size()};
    checkpoint.set(prefix + "counts", std::span<const std::uint64_t>(counts));
    for (std::size_t i = 0; i < code.levels.size(); ++i) {
      checkpoint.set(fmt::format("{}level.{}", prefix, i), code.levels[i]);
    }
  }
}

Encoder Encoder::load(const Checkpoint& checkpoint) {
  std::vector<ColumnCode> columns;
  const std::uint64_t count = checkpoint.number("columns");
  for (std::uint64_t c = 0; c < count; ++c) {
    const std::string prefix = fmt::format("column.{}.", c);
    ColumnCode code;
    code.name = checkpoint.text(prefix + "name");
    const std::string& kind = checkpoint.text(prefix + "kind");
    if (kind != "number" && kind != "text") {
      throw FileError(fmt::format("the model has a column of unknown kind {}", in_quotes(kind)));
    }
    code.kind = kind == "number" ? ColumnKind::number : ColumnKind::text;
    code.form = form_of(checkpoint.text(prefix + "form"));
    // Models of earlier versions lack it.
    if (checkpoint.has(prefix + "dropped")) code.reason = reason_of(checkpoint.text(prefix + "dropped"));
    code.mostly_mean = checkpoint.has(prefix + "mostly-mean");
    if (checkpoint.has(prefix + "format")) code.format = format_in(checkpoint.text(prefix + "format"));
    if (code.format.is_date()) {
      const auto& range = checkpoint.array<double>(prefix + "calendar", 4);
      const auto& parts = checkpoint.array<std::uint64_t>(prefix + "cycles", 4);
      code.calendar = {range[0],      range[1],      range[2],      range[3],
                       parts[0] != 0, parts[1] != 0, parts[2] != 0, parts[3] != 0};
    }
    const auto& scale = checkpoint.array<double>(prefix + "scale", 2);
    code.mean = scale[0];
    code.deviation = scale[1];
    if (checkpoint.has(prefix + "farthest")) code.farthest = checkpoint.array<double>(prefix + "farthest", 1)[0];
    if (checkpoint.has(prefix + "pieces")) {
      code.edges = checkpoint.array<double>(prefix + "edges", checkpoint.number(prefix + "pieces") + 1);
    }
    const auto& counts = checkpoint.array<std::uint64_t>(prefix + "counts", 3);
    code.missing = counts[0];
    code.distinct = counts[1];
    for (std::uint64_t i = 0; i < counts[2]; ++i) {
      code.levels.push_back(checkpoint.text(fmt::format("{}level.{}", prefix, i)));
    }
    check(code);
    columns.push_back(std::move(code));
  }
  return Encoder(std::move(columns));
}

}  // namespace ignd
