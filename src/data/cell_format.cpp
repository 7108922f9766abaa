#include "data/cell_format.hpp"

#include "base/number.hpp"
#include "base/spec.hpp"
#include "base/text.hpp"
#include "data/csv.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

using Currency = CellFormat::Currency;
using Order = CellFormat::Order;
using Kind = CellFormat::Kind;
using namespace std::string_view_literals;

constexpr double seconds_of_a_day = 86'400;

struct CurrencySign {
  Currency currency;
  std::string_view sign;
  std::string_view name;  // in model files
};
constexpr std::array currencies{
    CurrencySign{Currency::dollar, "$", "dollar"}, CurrencySign{Currency::euro, "\xe2\x82\xac", "euro"},
    CurrencySign{Currency::pound, "\xc2\xa3", "pound"}, CurrencySign{Currency::yen, "\xc2\xa5", "yen"}};

constexpr std::array order_names{"year-first"sv, "day-first"sv, "month-first"sv};

// Blanks inside a cell. Some programs write no-break, narrow or thin spaces.
constexpr std::array blanks{" "sv, "\xc2\xa0"sv, "\xe2\x80\xaf"sv, "\xe2\x80\x89"sv};
constexpr std::string_view minus_sign = "\xe2\x88\x92";

bool take_front(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

bool take_back(std::string_view& text, std::string_view what) {
  if (!text.ends_with(what)) return false;
  text.remove_suffix(what.size());
  return true;
}

void skip_blanks(std::string_view& text) {
  while (std::ranges::any_of(blanks, [&](std::string_view blank) { return take_front(text, blank); })) {
  }
}

void skip_blanks_behind(std::string_view& text) {
  while (std::ranges::any_of(blanks, [&](std::string_view blank) { return take_back(text, blank); })) {
  }
}

// A number, its sign and its unit.
struct Amount {
  std::string_view digits;
  bool negative = false;
  bool percent = false;
  Currency currency = Currency::none;
};

bool take_currency(std::string_view& text, Currency& currency, bool (*take)(std::string_view&, std::string_view)) {
  if (currency != Currency::none) return false;
  for (const CurrencySign& known : currencies) {
    if (!take(text, known.sign)) continue;
    currency = known.currency;
    return true;
  }
  return false;
}

std::optional<Amount> amount_in(std::string_view text) {
  Amount amount;
  text = trim(text);
  skip_blanks(text);
  skip_blanks_behind(text);
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {  // how accountants write negative numbers
    text = text.substr(1, text.size() - 2);
    amount.negative = true;
  }
  bool signed_already = amount.negative;
  const auto take_sign = [&] {
    const bool minus = take_front(text, "-") || take_front(text, minus_sign);
    if (!minus && !take_front(text, "+")) return true;
    if (signed_already) return false;
    signed_already = true;
    amount.negative = minus;
    return true;
  };
  if (!take_sign()) return std::nullopt;
  if (take_currency(text, amount.currency, take_front)) {
    skip_blanks(text);
    if (!take_sign()) return std::nullopt;
  }
  if (take_back(text, "%")) {
    amount.percent = true;
  } else {
    take_currency(text, amount.currency, take_back);
  }
  skip_blanks_behind(text);
  amount.digits = text;
  return amount;
}

// The thousands separator that a text starts with, or an empty text.
std::string_view separator_at(std::string_view text, bool comma) {
  for (const std::string_view separator : {comma ? "."sv : ","sv, "'"sv, "\xe2\x80\x99"sv}) {
    if (text.starts_with(separator)) return separator;
  }
  for (const std::string_view blank : blanks) {
    if (text.starts_with(blank)) return blank;
  }
  return {};
}

// Digits with a decimal mark and thousands separators: groups of three, all with the same separator.
std::optional<double> read_digits(std::string_view text, bool comma, bool& grouped) {
  constexpr std::size_t longest = 64;
  constexpr std::size_t group = 3;
  std::array<char, longest> plain{};
  std::size_t size = 0;
  std::size_t in_group = 0;
  std::string_view separator;
  bool decimals = false;
  if (text.empty() || !(is_digit(text[0]) || text[0] == (comma ? ',' : '.'))) return std::nullopt;
  while (!text.empty()) {
    if (size + 1 >= longest) return std::nullopt;
    const char c = text[0];
    if (is_digit(c)) {
      plain[size++] = c;
      ++in_group;
    } else if ((c | 0x20) == 'e' && separator.empty()) {
      if (size + text.size() > longest) return std::nullopt;
      std::ranges::copy(text, plain.begin() + static_cast<std::ptrdiff_t>(size));
      size += text.size();
      break;
    } else if (!decimals && c == (comma ? ',' : '.')) {
      if (!separator.empty() && in_group != group) return std::nullopt;
      decimals = true;
      plain[size++] = '.';
    } else {
      const std::string_view found = separator_at(text, comma);
      const bool first = separator.empty();
      if (found.empty() || decimals || (!first && found != separator)) return std::nullopt;
      if (first ? in_group == 0 || in_group > group || plain[0] == '0' : in_group != group) return std::nullopt;
      separator = found;
      in_group = 0;
      text.remove_prefix(found.size());
      continue;
    }
    text.remove_prefix(1);
  }
  if (!separator.empty() && !decimals && in_group != group) return std::nullopt;
  double value = 0;
  if (read_any_number(plain.data(), plain.data() + size, value) != plain.data() + size) return std::nullopt;
  grouped = grouped || !separator.empty();
  return value;
}

// Takes one to `most` digits; -1 if there are none, or more.
int take_count(std::string_view& text, std::size_t most) {
  std::size_t digits = 0;
  int value = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    if (digits == most) return -1;
    value = 10 * value + (text[digits++] - '0');
  }
  text.remove_prefix(digits);
  return digits == 0 ? -1 : value;
}

struct ReadDate {
  double seconds = 0;
  bool has_time = false;
  bool has_zone = false;
};

// "+02:00", "+0200" or "+02": seconds ahead of UTC.
std::optional<double> take_zone(std::string_view& text) {
  if (take_front(text, "Z") || take_front(text, "z")) return 0;
  if (text.size() < 3 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const double sign = text[0] == '-' ? -1 : 1;
  std::string_view digits = text.substr(1, 2);
  text.remove_prefix(3);
  const int hours = take_count(digits, 2);
  take_front(text, ":");
  std::string_view rest = text.substr(0, 2);
  const int minutes = text.empty() ? 0 : take_count(rest, 2);
  if (!digits.empty() || !rest.empty() || hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return std::nullopt;
  text = {};
  return sign * (3600.0 * hours + 60.0 * minutes);
}

// "12:30", "12:30:15.25" or "1:30 PM", perhaps with a time zone. False if it is something else.
bool read_time(std::string_view text, ReadDate& date) {
  int hours = take_count(text, 2);
  if (hours < 0 || !take_front(text, ":") || text.size() < 2) return false;
  const int minutes = take_count(text, 2);
  double seconds = 0;
  if (take_front(text, ":")) {
    const int whole = take_count(text, 2);
    if (whole < 0) return false;
    seconds = whole;
    if (take_front(text, ".") || take_front(text, ",")) {
      std::size_t digits = 0;
      double unit = 0.1;
      for (; digits < text.size() && is_digit(text[digits]); ++digits, unit /= 10)
        seconds += unit * (text[digits] - '0');
      if (digits == 0) return false;
      text.remove_prefix(digits);
    }
  }
  skip_blanks(text);
  const bool before_noon = take_front(text, "AM") || take_front(text, "am");
  const bool after_noon = !before_noon && (take_front(text, "PM") || take_front(text, "pm"));
  if (before_noon || after_noon) {
    if (hours < 1 || hours > 12) return false;
    hours = hours % 12 + (after_noon ? 12 : 0);
  }
  if (hours > 23 || minutes < 0 || minutes > 59 || seconds >= 61) return false;
  date.has_time = true;
  date.seconds += 3600.0 * hours + 60.0 * minutes + seconds;
  skip_blanks(text);
  if (text.empty()) return true;
  const auto ahead = take_zone(text);
  if (!ahead || !text.empty()) return false;
  date.has_zone = true;
  date.seconds -= *ahead;
  return true;
}

std::optional<ReadDate> read_date(std::string_view text, Order order) {
  text = trim(text);
  const bool year_comes_first = order == Order::year_first;
  const auto take_number = [&](bool year) {
    const std::size_t before = text.size();
    const int number = take_count(text, year ? 4 : 2);
    return year && before - text.size() != 4 ? -1 : number;
  };
  const int first = take_number(year_comes_first);
  if (first < 0 || text.empty()) return std::nullopt;
  const char separator = text[0];
  if (separator != '-' && separator != '/' && separator != '.') return std::nullopt;
  text.remove_prefix(1);
  const int second = take_number(false);
  if (second < 0 || text.empty() || text[0] != separator) return std::nullopt;
  text.remove_prefix(1);
  const int third = take_number(!year_comes_first);
  if (third < 0) return std::nullopt;
  const int year = year_comes_first ? first : third;
  const int month = order == Order::month_first ? first : second;
  const int day = order == Order::year_first ? third : order == Order::day_first ? first : second;
  const std::chrono::year_month_day calendar{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                             std::chrono::day{static_cast<unsigned>(day)}};
  if (!calendar.ok() || year == 0) return std::nullopt;
  ReadDate date;
  date.seconds = seconds_of_a_day * static_cast<double>(std::chrono::sys_days(calendar).time_since_epoch().count());
  if (text.empty()) return date;
  if (!take_front(text, "T") && !take_front(text, "t")) {
    if (text[0] != ' ') return std::nullopt;
    skip_blanks(text);
  }
  if (!read_time(text, date)) return std::nullopt;
  return date;
}

std::chrono::sys_days day_of(double seconds) {
  return std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(std::floor(seconds / seconds_of_a_day))));
}

}  // namespace

std::optional<double> CellFormat::read(std::string_view field) const {
  if (kind == Kind::plain) {
    double value = 0;
    return is_number(field, value) ? std::optional(value) : std::nullopt;
  }
  if (kind == Kind::date) {
    const auto date = read_date(field, order);
    if (!date || (date->has_time && date->has_zone != zone)) return std::nullopt;
    return date->seconds;
  }
  const auto amount = amount_in(field);
  if (!amount || amount->percent != percent) return std::nullopt;
  if (amount->currency != Currency::none && amount->currency != currency) return std::nullopt;
  bool ignored = false;
  const auto size = read_digits(amount->digits, comma, ignored);
  if (!size) return std::nullopt;
  return amount->negative ? -*size : *size;
}

std::string CellFormat::describe() const {
  if (kind == Kind::plain) return "number";
  if (kind == Kind::date) {
    constexpr std::array words{"", ", day first", ", month first"};
    return fmt::format("date{}{}", words[static_cast<std::size_t>(order)], zone ? ", as UTC" : "");
  }
  std::vector<std::string> marks;
  for (const CurrencySign& known : currencies) {
    if (known.currency == currency) marks.push_back(fmt::format("currency {}", known.sign));
  }
  if (percent) marks.emplace_back("%");
  if (comma) marks.emplace_back("decimal comma");
  if (grouped) marks.emplace_back("thousands separators");
  return marks.empty() ? "number" : "number with " + join(marks, ", ");
}

std::string CellFormat::spec() const {
  if (kind == Kind::plain) return "plain";
  if (kind == Kind::date) {
    return fmt::format("date:order={},zone={}", order_names[static_cast<std::size_t>(order)], zone ? 1 : 0);
  }
  std::string_view money = "none";
  for (const CurrencySign& known : currencies) {
    if (known.currency == currency) money = known.name;
  }
  return fmt::format("number:decimal={},grouped={},percent={},currency={}", comma ? "comma" : "point", grouped ? 1 : 0,
                     percent ? 1 : 0, money);
}

CellFormat CellFormat::parse(const std::string& text) {
  Spec spec("format", text);
  CellFormat format;
  if (spec.name() == "date") {
    format.kind = Kind::date;
    const std::string order = spec.word("order", order_names[0]);
    const auto found = std::ranges::find(order_names, order);
    if (found == order_names.end())
      spec.add_fault(fmt::format("there is no order {}", in_quotes(order)));
    else
      format.order = static_cast<Order>(found - order_names.begin());
    format.zone = spec.count("zone", 0, 0, 1) == 1;
  } else if (spec.name() == "number") {
    format.kind = Kind::number;
    const std::string decimal = spec.word("decimal", "point");
    if (decimal != "point" && decimal != "comma") {
      spec.add_fault(fmt::format("there is no decimal mark {}", in_quotes(decimal)));
    }
    format.comma = decimal == "comma";
    format.grouped = spec.count("grouped", 0, 0, 1) == 1;
    format.percent = spec.count("percent", 0, 0, 1) == 1;
    const std::string money = spec.word("currency", "none");
    const auto found = std::ranges::find(currencies, money, &CurrencySign::name);
    if (found != currencies.end())
      format.currency = found->currency;
    else if (money != "none")
      spec.add_fault(fmt::format("there is no currency {}", in_quotes(money)));
  } else if (spec.name() != "plain") {
    spec.refuse_name(std::vector<std::string>{"plain", "number", "date"});
  }
  spec.finish();
  return format;
}

bool CellFormat::means_the_same(const CellFormat& other) const {
  const bool same_money = currency == other.currency || currency == Currency::none || other.currency == Currency::none;
  return is_date() == other.is_date() && percent == other.percent && same_money;
}

DateParts date_parts(double seconds) {
  using namespace std::chrono;
  const sys_days day = day_of(seconds);
  const year_month_day calendar(day);
  const auto of_year = (day - sys_days(calendar.year() / January / 1)).count();
  const bool behind_leap_day = calendar.year().is_leap() && of_year >= 59;
  return {.year = static_cast<double>(static_cast<int>(calendar.year())),
          .month = static_cast<double>(static_cast<unsigned>(calendar.month()) - 1),
          .weekday = static_cast<double>(weekday(day).iso_encoding() - 1),
          .day_of_year = static_cast<double>(of_year - (behind_leap_day ? 1 : 0)),
          .second_of_day = seconds - seconds_of_a_day * static_cast<double>(day.time_since_epoch().count())};
}

std::string date_text(double seconds) {
  const std::chrono::year_month_day calendar(day_of(seconds));
  std::string day = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(calendar.year()),
                                static_cast<unsigned>(calendar.month()), static_cast<unsigned>(calendar.day()));
  const auto time = static_cast<int>(date_parts(seconds).second_of_day);
  if (time == 0) return day;
  return fmt::format("{} {:02}:{:02}:{:02}", day, time / 3600, time / 60 % 60, time % 60);
}

void FormatGuess::unite(const std::optional<bool>& flag, std::optional<bool>& own) {
  if (!flag) return;
  if (own.value_or(*flag) != *flag) alive_ = 0;
  own = flag;
}

void FormatGuess::add(std::string_view field) {
  if (alive_ == 0) return;
  ++cells_;
  unsigned fits = 0;
  const unsigned numbers = point | comma;
  const auto amount = (alive_ & numbers) != 0 ? amount_in(field) : std::nullopt;
  if (amount) {
    if (read_digits(amount->digits, false, grouped_seen_[0])) fits |= point;
    if (read_digits(amount->digits, true, grouped_seen_[1])) fits |= comma;
  }
  if (fits != 0) {
    unite(amount->percent, percent_);
    const bool other = currency_ != Currency::none && currency_ != amount->currency;
    if (amount->currency != Currency::none) {
      if (other) alive_ = 0;
      currency_ = amount->currency;
    }
    point_seen_ = point_seen_ || amount->digits.find('.') != std::string_view::npos;
    comma_seen_ = comma_seen_ || amount->digits.find(',') != std::string_view::npos;
  }
  constexpr std::array orders{std::pair(year_first, Order::year_first), std::pair(day_first, Order::day_first),
                              std::pair(month_first, Order::month_first)};
  for (const auto& [candidate, order] : orders) {
    if ((alive_ & candidate) == 0) continue;
    const auto date = read_date(field, order);
    if (!date) continue;
    fits |= candidate;
    if (date->has_time) unite(date->has_zone, zone_);
  }
  alive_ &= fits;
}

void FormatGuess::merge(const FormatGuess& other) {
  cells_ += other.cells_;
  alive_ &= other.alive_;
  unite(other.percent_, percent_);
  unite(other.zone_, zone_);
  if (other.currency_ != Currency::none) {
    if (currency_ != Currency::none && currency_ != other.currency_) alive_ = 0;
    currency_ = other.currency_;
  }
  point_seen_ = point_seen_ || other.point_seen_;
  comma_seen_ = comma_seen_ || other.comma_seen_;
  for (std::size_t i = 0; i < 2; ++i) grouped_seen_[i] = grouped_seen_[i] || other.grouped_seen_[i];
}

std::optional<bool> FormatGuess::shown_comma() const {
  if (cells_ == 0 || (alive_ & (point | comma)) == 0 || both_decimals()) return std::nullopt;
  return (alive_ & comma) != 0;
}

// Both decimal marks remain possible only if exactly three digits follow every mark: "1,200". Decimals would sometimes
// have fewer digits, so these are thousands, unless the rest of the file says otherwise. Money never has three
// decimals.
std::optional<CellFormat> FormatGuess::decide(std::optional<bool> asked, std::optional<bool> elsewhere) const {
  if (cells_ == 0 || alive_ == 0 || both_orders()) return std::nullopt;
  CellFormat format;
  if ((alive_ & (point | comma)) == 0) {
    format.kind = Kind::date;
    format.order = (alive_ & year_first) != 0  ? Order::year_first
                   : (alive_ & day_first) != 0 ? Order::day_first
                                               : Order::month_first;
    format.zone = zone_.value_or(false);
    return format;
  }
  format.kind = Kind::number;
  format.percent = percent_.value_or(false);
  format.currency = currency_;
  format.comma = (alive_ & point) == 0;
  if (both_decimals() && (point_seen_ || comma_seen_)) {
    const auto known = asked || currency_ != Currency::none ? asked : elsewhere;
    if (!known && point_seen_ && comma_seen_) return std::nullopt;
    format.comma = known.value_or(point_seen_);
  } else if (both_decimals()) {
    format.comma = asked.value_or(elsewhere.value_or(false));
  }
  format.grouped = grouped_seen_[format.comma ? 1 : 0];
  return format;
}

std::string FormatGuess::why() const {
  if (cells_ == 0 || alive_ == 0) return "";
  if (both_orders()) return "its dates may have the day first or the month first";
  if (both_decimals() && point_seen_ && comma_seen_) {
    return "its numbers may have a decimal point or a decimal comma; say which with --decimal";
  }
  return "";
}

}  // namespace ignd
