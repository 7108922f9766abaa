#include "data/cell_format.hpp"

#include "ignd/error.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using Cells = std::vector<std::string>;

FormatGuess guess_of(const Cells& cells) {
  FormatGuess guess;
  for (const std::string& cell : cells) guess.add(cell);
  return guess;
}

// What is recognised; "text" where nothing is.
std::string recognised(const Cells& cells, std::optional<bool> asked = {}, std::optional<bool> elsewhere = {}) {
  const auto format = guess_of(cells).decide(asked, elsewhere);
  if (!format) return "text";
  for (const std::string& cell : cells) EXPECT_TRUE(format->read(cell)) << cell;
  return format->describe();
}

double value(const Cells& cells, const std::string& cell) {
  const auto format = guess_of(cells).decide({}, {});
  return format ? format->read(cell).value_or(-77) : -99;
}

constexpr double day = 86'400;

TEST(CellFormat, ReadsAmountsOfMoney) {
  const Cells cells{"$1,200", "$3", "-$1,200.50", "($7.25)", "$-8", "$ 9", "12"};
  EXPECT_EQ(recognised(cells), "number with currency $, thousands separators");
  EXPECT_EQ(value(cells, "$1,200"), 1200);
  EXPECT_EQ(value(cells, "-$1,200.50"), -1200.5);
  EXPECT_EQ(value(cells, "($7.25)"), -7.25);
  EXPECT_EQ(value(cells, "$-8"), -8);
  EXPECT_EQ(value(cells, "12"), 12);
  const Cells euros{"1.234,56 €", "7,50 €", "−3,00 €"};
  EXPECT_EQ(recognised(euros), "number with currency €, decimal comma, thousands separators");
  EXPECT_EQ(value(euros, "1.234,56 €"), 1234.56);
  EXPECT_EQ(value(euros, "−3,00 €"), -3);
  EXPECT_EQ(recognised({"£5", "£1,000"}), "number with currency £, thousands separators");
  EXPECT_EQ(recognised({"¥500", "¥12"}), "number with currency ¥");
  EXPECT_EQ(recognised({"$5", "£5"}), "text");
  EXPECT_EQ(recognised({"$5", "five"}), "text");
  for (const char* cell : {"$", "$$5", "--5", "-$-5", "(-5)", "5$%", "$5%5", "", "()", "$ "}) {
    EXPECT_EQ(recognised({"$7", cell}), "text") << cell;
  }
}

TEST(CellFormat, ReadsPercentages) {
  EXPECT_EQ(recognised({"12 %", "3.5%", "-1%"}), "number with %");
  EXPECT_EQ(value({"12 %", "3.5%"}, "12 %"), 12);
  EXPECT_EQ(recognised({"12,5 %", "3 %"}), "number with %, decimal comma");
  EXPECT_EQ(recognised({"12 %", "0.12"}), "text");  // these are not the same unit
}

TEST(CellFormat, ReadsDecimalCommasAndThousands) {
  const std::string comma = "number with decimal comma";
  const std::string both = "number with decimal comma, thousands separators";
  const std::string thousands = "number with thousands separators";
  EXPECT_EQ(recognised({"12,5", "3"}), comma);
  EXPECT_EQ(recognised({"1.234,56", "3"}), both);
  EXPECT_EQ(recognised({"0,125", "0,5"}), comma);  // no thousand starts with a zero
  EXPECT_EQ(value({"0,125"}, "0,125"), 0.125);
  EXPECT_EQ(recognised({"1,200", "950"}), thousands);
  EXPECT_EQ(value({"1,200", "950"}, "1,200"), 1200);
  EXPECT_EQ(recognised({"1,234,567.5"}), thousands);
  EXPECT_EQ(recognised({"1.234.567"}), both);
  EXPECT_EQ(value({"1.234.567"}, "1.234.567"), 1'234'567);
  EXPECT_EQ(recognised({"1'234.5", "7"}), thousands);
  EXPECT_EQ(recognised({"1 234,5", "7"}), both);
  EXPECT_EQ(value({"1\xc2\xa0"
                   "234",
                   "7"},
                  "1\xc2\xa0"
                  "234"),
            1234);
  EXPECT_EQ(recognised({"1,5", "2,5e3"}), comma);
  EXPECT_EQ(value({"1,5"}, "2,5e3"), 2500);
  EXPECT_EQ(value({"1,5"}, ",5"), 0.5);
  for (const char* cell : {"1,2,3", "1,23,456", "1,,234", "1 23", "12 34", "1.2.3", "01,234,567", "1,234 567", "1,5,",
                           "1,200x", "e5", "1,5e", "inf", ","}) {
    EXPECT_EQ(recognised({"1,234,567", cell}), "text") << cell;
  }
}

TEST(CellFormat, WhereTwoReadingsFitTheRestOfTheFileDecides) {
  EXPECT_EQ(recognised({"1,200", "3,450"}, true), "number with decimal comma");
  EXPECT_EQ(recognised({"1,200", "3,450"}, false), "number with thousands separators");
  EXPECT_EQ(recognised({"€1.200", "€950"}), "number with currency €, decimal comma, thousands separators");
  EXPECT_EQ(recognised({"€1.200", "€950"}, false), "number with currency €");
  EXPECT_EQ(recognised({"1,200", "1.200"}), "text");
  EXPECT_EQ(recognised({"1,200", "3,450"}, {}, true), "number with decimal comma");
  EXPECT_EQ(recognised({"1,200", "3,450"}, false, true), "number with thousands separators");
  EXPECT_EQ(recognised({"$1,200", "$950"}, {}, true), "number with currency $, thousands separators");
  EXPECT_NE(guess_of({"1,200", "1.200"}).why(), "");
  EXPECT_EQ(recognised({"1,200", "1.20"}), "number with thousands separators");
  EXPECT_EQ(guess_of({"1,200", "x"}).why(), "");
}

TEST(CellFormat, ReadsDatesAndTimes) {
  EXPECT_EQ(recognised({"2024-03-01", "1969-12-31"}), "date");
  EXPECT_EQ(value({"1970-01-02"}, "1970-01-02"), day);
  EXPECT_EQ(value({"1970-01-02"}, "1969-12-31"), -day);
  EXPECT_EQ(value({"1970-01-02"}, "2000-03-01"), 11'017 * day);
  EXPECT_EQ(recognised({"2024/03/01", "2024/3/1"}), "date");
  EXPECT_EQ(recognised({"2024-03-01T12:30:00", "2024-03-01 12:30", "2024-03-01"}), "date");
  EXPECT_EQ(value({"1970-01-01T12:30:00"}, "1970-01-01 12:30:15.25"), 45'015.25);
  EXPECT_EQ(recognised({"2024-03-01T12:30:00Z", "2024-03-01T12:30:00+02:00"}), "date, as UTC");
  EXPECT_EQ(value({"1970-01-01T12:30:00+02:00"}, "1970-01-01T12:30:00+02:00"), 37'800);
  EXPECT_EQ(value({"1970-01-01T12:30:00Z"}, "1970-01-01T00:00:00.5-0130"), 5400.5);
  EXPECT_EQ(recognised({"2024-03-01T12:30:00Z", "2024-03-01T12:30:00"}), "text");
  EXPECT_EQ(value({"12/31/1970"}, "01/01/1970 1:30 PM"), 48'600);
  EXPECT_EQ(value({"12/31/1970"}, "01/01/1970 12:05 AM"), 300);
  EXPECT_EQ(recognised({"2024-02-29"}), "date");
  for (const char* cell : {"2023-02-29",
                           "2024-13-01",
                           "2024-00-01",
                           "2024-01-32",
                           "2024-1",
                           "24-01-01",
                           "2024-01/01",
                           "2024-01-01x",
                           "2024-01-01T",
                           "2024-01-01T25:00",
                           "2024-01-01T12:60",
                           "2024-01-01T12",
                           "2024-01-01 12:30+25:00",
                           "0000-01-01",
                           "20240-01-01",
                           "2024--01-01",
                           "-2024-01-01",
                           "2024-01-01 13:00 PM",
                           "2024-01-01T12:30:00.",
                           "2024"}) {
    EXPECT_EQ(recognised({"2024-01-01", cell}), "text") << cell;
  }
}

TEST(CellFormat, TheDayIsFirstOnlyWhereTheValuesSaySo) {
  EXPECT_EQ(recognised({"01.03.2024", "31.12.2024"}), "date, day first");
  EXPECT_EQ(recognised({"01/03/2024", "12/31/2024"}), "date, month first");
  EXPECT_EQ(value({"31/12/1970"}, "02/01/1970"), day);
  EXPECT_EQ(value({"12/31/1970"}, "02/01/1970"), 31 * day);
  EXPECT_EQ(recognised({"01/03/2024", "02/04/2024"}), "text");
  EXPECT_EQ(guess_of({"01/03/2024", "02/04/2024"}).why(), "its dates may have the day first or the month first");
  EXPECT_EQ(recognised({"31/12/2024", "12/31/2024"}), "text");
}

TEST(CellFormat, GuessesOfPartsAreThoseOfTheWhole) {
  const std::vector<Cells> columns{{"01/03/2024", "31/12/2024"},
                                   {"01/03/2024", "12/31/2024"},
                                   {"1,200", "12,5"},
                                   {"1,200", "1.5"},
                                   {"$5", "£5"},
                                   {"$5", "5"},
                                   {"5%", "5"},
                                   {"5%", "1,234%"},
                                   {"2024-01-01", "x"},
                                   {"2024-01-01T00:00Z", "2024-01-01T00:00"}};
  for (const Cells& cells : columns) {
    for (const bool swap : {false, true}) {
      FormatGuess first = guess_of({cells[swap ? 1 : 0]});
      first.merge(guess_of({cells[swap ? 0 : 1]}));
      const auto format = first.decide({}, {});
      EXPECT_EQ(format ? format->describe() : "text", recognised(cells)) << cells[0];
    }
    FormatGuess nothing;
    nothing.merge(guess_of(cells));
    const auto format = nothing.decide({}, {});
    EXPECT_EQ(format ? format->describe() : "text", recognised(cells)) << cells[0];
  }
}

TEST(CellFormat, KnowsTheCalendar) {
  const auto parts = [](const char* text) {
    return date_parts(*CellFormat{.kind = CellFormat::Kind::date}.read(text));
  };
  const DateParts leap = parts("2024-03-01 06:00");
  EXPECT_EQ(leap.year, 2024);
  EXPECT_EQ(leap.month, 2);
  EXPECT_EQ(leap.weekday, 4);
  EXPECT_EQ(leap.day_of_year, 59);  // as in every year
  EXPECT_EQ(leap.second_of_day, 21'600);
  EXPECT_EQ(parts("2023-03-01").day_of_year, 59);
  EXPECT_EQ(parts("2024-12-31").day_of_year, 364);
  EXPECT_EQ(parts("1969-12-31 23:59:59").second_of_day, day - 1);
  EXPECT_EQ(parts("0001-01-01").year, 1);
  EXPECT_EQ(date_text(*CellFormat{.kind = CellFormat::Kind::date}.read("1969-12-31 23:59:59")), "1969-12-31 23:59:59");
  EXPECT_EQ(date_text(0), "1970-01-01");
}

TEST(CellFormat, ComesBackFromItsText) {
  for (const Cells& cells : {Cells{"$1,200"},
                             {"12,5 %"},
                             {"1.234,5 €"},
                             {"31.12.2024"},
                             {"12/31/2024"},
                             {"2024-03-01T00:00Z"},
                             {"¥5"},
                             {"£5"}}) {
    const auto format = guess_of(cells).decide({}, {});
    ASSERT_TRUE(format) << cells[0];
    const CellFormat again = CellFormat::parse(format->spec());
    EXPECT_EQ(again.spec(), format->spec());
    EXPECT_EQ(again.read(cells[0]), format->read(cells[0]));
  }
  EXPECT_EQ(CellFormat::parse("plain").read("1.5"), 1.5);
  for (const char* bad :
       {"", "moon", "date:order=sideways", "number:decimal=dot", "number:currency=shell", "date:x=1"}) {
    EXPECT_THROW(CellFormat::parse(bad), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace ignd
