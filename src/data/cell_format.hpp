#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ignd {

// How to read cells as numbers that are not plain numbers: dates, amounts of money, percentages, grouped digits.
//
// A date is read as the seconds since 1970-01-01 00:00 UTC; without a time zone it counts as UTC. A percentage is the
// number before the sign: 12 % is 12.
struct CellFormat {
  enum class Kind { plain, number, date };
  enum class Currency { none, dollar, euro, pound, yen };
  enum class Order { year_first, day_first, month_first };

  Kind kind = Kind::plain;
  bool comma = false;    // the decimal mark is a comma, not a point
  bool grouped = false;  // some cells have thousands separators; for messages only
  bool percent = false;  // all cells have the sign; otherwise none has
  Currency currency = Currency::none;
  Order order = Order::year_first;
  bool zone = false;  // all cells with a time of day have a time zone; otherwise none has

  bool is_date() const { return kind == Kind::date; }

  // The value of a cell; none if the cell does not fit. Plain numbers are what is_number() accepts.
  std::optional<double> read(std::string_view field) const;

  // "date, day first" or "number with currency $, decimal comma"; "number" if it is plain.
  std::string describe() const;

  // As written in model files: "date:order=day-first". parse() throws InvalidArgument.
  std::string spec() const;
  static CellFormat parse(const std::string& spec);

  // Whether both formats measure the same thing: dates and amounts of money do not mix.
  bool means_the_same(const CellFormat& other) const;
};

// The calendar parts of a date.
struct DateParts {
  double year = 0;
  double month = 0;          // from 0, like the next two
  double weekday = 0;        // from Monday
  double day_of_year = 0;    // a leap day shares the number of the day before it
  double second_of_day = 0;  // with fractions
};
DateParts date_parts(double seconds);
std::string date_text(double seconds);  // "2024-03-01", or "2024-03-01 12:30:00" where it is not midnight

// Finds the format that all cells of a column share, if there is one.
class FormatGuess {
 public:
  // Takes a cell that is not missing into account.
  void add(std::string_view field);
  void merge(const FormatGuess& other);

  // Whether some format fits all cells so far.
  bool is_alive() const { return alive_ != 0; }
  // True: comma. Empty if the cells leave the decimal mark open.
  std::optional<bool> shown_comma() const;

  // The format that fits all cells. None if there is no such format, or if two fit that read different numbers; why()
  // then explains. The user's choice of the decimal mark comes first, then what the rest of the file shows; true is a
  // comma.
  std::optional<CellFormat> decide(std::optional<bool> asked, std::optional<bool> elsewhere) const;
  std::string why() const;

 private:
  enum Candidate : unsigned { point = 1, comma = 2, year_first = 4, day_first = 8, month_first = 16, all = 31 };

  bool both_decimals() const { return (alive_ & (point | comma)) == (point | comma); }
  bool both_orders() const { return (alive_ & (day_first | month_first)) == (day_first | month_first); }
  void unite(const std::optional<bool>& flag, std::optional<bool>& own);

  unsigned alive_ = all;
  std::uint64_t cells_ = 0;
  std::optional<bool> percent_;  // not given: no cell has shown it yet
  std::optional<bool> zone_;
  CellFormat::Currency currency_ = CellFormat::Currency::none;
  bool point_seen_ = false;  // as decimal mark or thousands separator, like the next
  bool comma_seen_ = false;
  bool grouped_seen_[2] = {false, false};  // if the point is the decimal mark, if the comma is
};

}  // namespace ignd
