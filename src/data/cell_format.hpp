#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ignd {

// How the cells of a column that are not plain numbers are numbers all the same.
//
// A date is the seconds since 1970-01-01 00:00 UTC; one without a zone counts as UTC. A percentage is the number before
// the sign: 12 % is 12.
struct CellFormat {
  enum class Kind { plain, number, date };
  enum class Currency { none, dollar, euro, pound, yen };
  enum class Order { year_first, day_first, month_first };

  Kind kind = Kind::plain;
  bool comma = false;    // it is the decimal mark, not the point
  bool grouped = false;  // some cells have separators of thousands; to be said, cells without fit as well
  bool percent = false;  // all cells have the sign, or none has
  Currency currency = Currency::none;
  Order order = Order::year_first;
  bool zone = false;  // all cells with a time of day say their zone, or none does

  bool is_date() const { return kind == Kind::date; }

  // The value of a cell; none where it does not fit. Of a plain number any that is_number() takes.
  std::optional<double> read(std::string_view field) const;

  // "date, day first" or "number with currency $, decimal comma"; "number" where it is plain.
  std::string describe() const;

  // As a model file has it: "date:order=day-first". parse() throws InvalidArgument.
  std::string spec() const;
  static CellFormat parse(const std::string& spec);

  // Whether numbers of this format mean the same as those of the other: no dates among amounts of money.
  bool means_the_same(const CellFormat& other) const;
};

// What there is to know of a date.
struct DateParts {
  double year = 0;
  double month = 0;          // from 0, as the next two
  double weekday = 0;        // from Monday
  double day_of_year = 0;    // a leap day has the number of the day before it
  double second_of_day = 0;  // with fractions
};
DateParts date_parts(double seconds);
std::string date_text(double seconds);  // "2024-03-01", or "2024-03-01 12:30:00" where it is not midnight

// Finds out which format the cells of a column have, if they all have the same.
class FormatGuess {
 public:
  // A cell that is not missing.
  void add(std::string_view field);
  void merge(const FormatGuess& other);

  // Whether some format fits all cells so far.
  bool is_alive() const { return alive_ != 0; }
  // Whether the decimal mark is certain, and shown.
  std::optional<bool> shown_comma() const;

  // The format that fits all cells. None if there is none, or if two fit and mean different numbers: then why() says
  // so. Between two decimal marks the user decides, and then what the rest of the file shows; true is a comma.
  std::optional<CellFormat> decide(std::optional<bool> asked, std::optional<bool> elsewhere) const;
  std::string why() const;

 private:
  enum Candidate : unsigned { point = 1, comma = 2, year_first = 4, day_first = 8, month_first = 16, all = 31 };

  bool both_decimals() const { return (alive_ & (point | comma)) == (point | comma); }
  bool both_orders() const { return (alive_ & (day_first | month_first)) == (day_first | month_first); }
  void unite(const std::optional<bool>& flag, std::optional<bool>& own);

  unsigned alive_ = all;
  std::uint64_t cells_ = 0;
  std::optional<bool> percent_;  // of cells so far; not given: none has shown it yet
  std::optional<bool> zone_;
  CellFormat::Currency currency_ = CellFormat::Currency::none;
  bool point_seen_ = false;  // as decimal mark or between thousands, as the next
  bool comma_seen_ = false;
  bool grouped_seen_[2] = {false, false};  // where the point, where the comma is the decimal mark
};

}  // namespace ignd
