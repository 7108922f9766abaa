#include "data/csv.hpp"

#include "csv_writer.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using Fields = std::vector<std::string>;

Fields fields_of(const CsvRow& row) {
  Fields fields;
  for (std::size_t i = 0; i < row.size(); ++i) fields.emplace_back(row[i]);
  return fields;
}

std::vector<Fields> split_all(std::string_view text, char delimiter = ',') {
  std::vector<Fields> rows;
  CsvRow row(delimiter);
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    at = row.split(at, end, true);
    if (at == nullptr) throw std::runtime_error("a text that is all there is has whole rows");
    rows.push_back(fields_of(row));
  }
  return rows;
}

TEST(CsvRow, SplitsAtDelimitersAndLineEnds) {
  EXPECT_EQ(split_all("a,b\nc,d\n"), (std::vector<Fields>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(split_all("a,b\r\nc,d\r\n"), (std::vector<Fields>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(split_all("a\tb\n", '\t'), (std::vector<Fields>{{"a", "b"}}));
  EXPECT_EQ(split_all("a,b"), (std::vector<Fields>{{"a", "b"}}));
  EXPECT_EQ(split_all("a,b\r"), (std::vector<Fields>{{"a", "b"}}));
}

TEST(CsvRow, KeepsEmptyFields) {
  EXPECT_EQ(split_all(",\n"), (std::vector<Fields>{{"", ""}}));
  EXPECT_EQ(split_all("a,,b,\n"), (std::vector<Fields>{{"a", "", "b", ""}}));
  EXPECT_EQ(split_all("a,"), (std::vector<Fields>{{"a", ""}}));
  EXPECT_EQ(split_all("\n\r\n"), (std::vector<Fields>{{""}, {""}}));
  EXPECT_EQ(split_all("\"\",\"\"\n"), (std::vector<Fields>{{"", ""}}));
}

TEST(CsvRow, QuotesHideDelimitersLineEndsAndQuotes) {
  EXPECT_EQ(split_all("\"a,b\",c\n"), (std::vector<Fields>{{"a,b", "c"}}));
  EXPECT_EQ(split_all("\"a\nb\r\nc\",d\r\ne,f"), (std::vector<Fields>{{"a\nb\r\nc", "d"}, {"e", "f"}}));
  EXPECT_EQ(split_all("\"say \"\"hi\"\"\"\n"), (std::vector<Fields>{{"say \"hi\""}}));
  EXPECT_EQ(split_all("\"\"\"\"\n"), (std::vector<Fields>{{"\""}}));
  EXPECT_EQ(split_all("\"a\r\"\n"), (std::vector<Fields>{{"a\r"}}));
}

TEST(CsvRow, QuotesInsideAFieldAreLetters) {
  EXPECT_EQ(split_all("5\" disk,b\n"), (std::vector<Fields>{{"5\" disk", "b"}}));
  EXPECT_EQ(split_all("\"a\"b,c\n"), (std::vector<Fields>{{"ab", "c"}}));
}

TEST(CsvRow, CountsTheLinesOfARow) {
  const std::string text = "\"a\n\nb\",\"\n\"\nx";
  CsvRow row(',');
  const char* next = row.split(text.data(), text.data() + text.size(), true);
  EXPECT_EQ(row.lines(), 4U);
  row.split(next, text.data() + text.size(), true);
  EXPECT_EQ(row.lines(), 1U);
}

TEST(CsvRow, ATextThatIsNotAllGivesNoPartOfARow) {
  const std::string text = "a,\"b\"\"\nc\",d\r\n";
  CsvRow row(',');
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(row.split(text.data(), text.data() + size, false), nullptr) << size;
  }
  EXPECT_EQ(row.split(text.data(), text.data() + text.size(), false), text.data() + text.size());
  EXPECT_EQ(fields_of(row), (Fields{"a", "b\"\nc", "d"}));
}

TEST(CsvRow, SaysWhenTheTextEndsInsideQuotes) {
  CsvRow row(',');
  const std::string open = "a,\"b\nc";
  EXPECT_EQ(row.split(open.data(), open.data() + open.size(), true), open.data() + open.size());
  EXPECT_TRUE(row.in_quotes());
  EXPECT_EQ(fields_of(row), (Fields{"a", "b\nc"}));
  const std::string closed = "a,\"b\nc\"";
  row.split(closed.data(), closed.data() + closed.size(), true);
  EXPECT_FALSE(row.in_quotes());
}

TEST(CsvRow, BlankIsNothingButWhiteSpace) {
  for (const auto& [text, blank] :
       {std::pair{"\n", true}, {" \t\r\n", true}, {"", true}, {",\n", false}, {"0\n", false}}) {
    CsvRow row(',');
    const std::string_view all = text;
    row.split(all.data(), all.data() + all.size(), true);
    EXPECT_EQ(row.blank(), blank) << text;
  }
}

TEST(CsvRow, ReadsBackWhatAnotherProgramWrote) {
  RandomStream stream(1, "csv");
  const std::string letters = "ab,;\"\n\r \t1\xc3\xa9";
  for (int trial = 0; trial < 300; ++trial) {
    const char delimiter = ",;\t|"[stream.below(4)];
    const std::string line_end = stream.below(2) == 0 ? "\n" : "\r\n";
    std::vector<Fields> rows(1 + stream.below(6), Fields(1 + stream.below(5)));
    std::string text;
    for (Fields& row : rows) {
      for (std::string& field : row) {
        for (std::uint64_t n = stream.below(6); n > 0; --n) field += letters[stream.below(letters.size())];
      }
      text += testing::csv_row(row, delimiter, stream) + line_end;
    }
    if (stream.below(2) == 0 && rows.back() != Fields{""}) text.resize(text.size() - line_end.size());
    EXPECT_EQ(split_all(text, delimiter), rows) << text;
  }
}

TEST(CsvRow, GarbageIsSplitWithoutLoss) {
  RandomStream stream(2, "csv");
  const std::string letters("\",\n\r\0a", 6);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text;
    for (std::uint64_t n = 1 + stream.below(20); n > 0; --n) text += letters[stream.below(letters.size())];
    std::size_t plain = 0;
    for (const Fields& row : split_all(text)) {
      for (const std::string& field : row)
        plain += static_cast<std::size_t>(std::count(field.begin(), field.end(), 'a'));
    }
    EXPECT_EQ(plain, static_cast<std::size_t>(std::count(text.begin(), text.end(), 'a')));
  }
}

TEST(GuessDelimiter, TakesTheOneThatCutsAllRowsAlike) {
  const std::vector<std::pair<std::string, char>> cases{
      {"a,b\n1,2\n", ','},
      {"a\tb\n1\t2\n", '\t'},
      {"a;b\n1;2\n", ';'},
      {"a|b\n1|2\n", '|'},
      {"a;b\n1,5;2,5\n", ';'},  // decimal commas
      {"text;label\nhello, world;1\nwell, well, well;0\n", ';'},
      {"\"a,b\"\t\"c,d\"\n1\t2\n", '\t'},  // commas in quotes
      {"a,b,c\n1;2,3,4\n5;6,7,8\n", ','},
      {"a b\tc\n1\t2\n", '\t'},
      {"one\n1\n2\n", ','},  // nothing to cut at
      {"", ','},
      {"\n\n", ','},
      {"\n\na;b\n1;2\n", ';'},       // blank lines say nothing
      {"a;b;c\n1;2;3", ';'},         // no last newline
      {"a;b;c\n1;2;3\n4;5\n", ';'},  // ragged: the header decides
      {"a;b;c,d\n1;2;3\n", ';'},
      {"a,b;c\n1,2;3\n", ','},  // a tie: the first of them
  };
  for (const auto& [text, delimiter] : cases) EXPECT_EQ(guess_delimiter(text), delimiter) << text;
}

TEST(GuessDelimiter, ARowThatIsCutOffSaysNothing) { EXPECT_EQ(guess_delimiter("a;b;c\n1;2;3\n4;5"), ';'); }

TEST(GuessHeader, NamesAreNotNumbers) {
  const std::vector<std::pair<std::string, bool>> cases{
      {"a,b\n1,2\n", true}, {"1,2\n3,4\n", false},          {"a,1\nb,2\n", false}, {"a,b\nc,d\n", true},
      {"x\n1\n", true},     {"-1.5e3\n2\n", false},         {"", false},           {"\n\n1,2\n", false},
      {"\n\na,b\n", true},  {"\"1\",\"2\"\n", false},       {" 7 , x\n", false},   {"1st,2nd\n1,2\n", true},
      {"a,nan\n", false},   {"year,2019\n2000,1\n", false},
  };
  for (const auto& [text, header] : cases) {
    EXPECT_EQ(guess_header(text, ',').header, header) << text;
  }
}

TEST(GuessHeader, WhereAllFieldsAreTextsTheFirstRowIsDataIfItOccursAgain) {
  struct Case {
    std::string text;
    bool header, sure;
    std::vector<std::string> asked_for = {};
  };
  const std::string movies = "great film,pos\nbad film,neg\ndull,neg\nfine,pos\n";
  const std::vector<Case> cases{
      {movies, false, false},
      {"text,mood\n" + movies, true, false},
      {"text,mood\n" + movies, true, false, {"mood"}},
      {"text,mood\n" + movies, false, false, {"c2"}},
      {"text,c2\n" + movies, true, false, {"c2"}},
      {"text,mood\n" + movies, true, false, {"mod"}},  // a slip, which a later message is about
      {"film,mood\nfilm,neg\nplay,pos\n", false, false},
      {"film,mood\nfilm,neg\nplay,pos\n", true, false, {"mood", "film"}},
      {"a,a\nb,c\nd,e\n", false, false},
      {"e,x,s\np,x,y\ne,b,s\n", false, false},
      {"name,size\nx,\ny,12\n", true, true},          // a text above a number
      {"x,,red\ny,3,blue\nz,4,red\n", false, false},  // nothing above numbers says nothing
      {"id,,colour\nx,3,blue\nz,4,red\n", true, false},
      {"town,2019,2020\nKiel,1,2\n", false, true},
      {"town,2019,2020\nKiel,1,2\n", true, true, {"2020"}},
      {"a,b\n", true, true},
  };
  for (const auto& [text, header, sure, asked_for] : cases) {
    const HeaderGuess guess = guess_header(text, ',', asked_for);
    EXPECT_EQ(guess.header, header) << text;
    EXPECT_EQ(guess.note.empty(), sure) << text << guess.note;
  }
  EXPECT_EQ(guess_header(movies, ',').note,
            "all fields are texts: the first row is read as data, because 'pos' occurs again below it; --header yes "
            "changes that");
}

TEST(Field, MissingIsOneOfAFewWords) {
  for (const char* word :
       {"", " ", "\t", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?", " NA ", "NA\r"}) {
    EXPECT_TRUE(is_missing(word)) << word;
  }
  for (const char* word : {"0", "-", "na", "Nan", "nulls", "inf", "??", "N A", "missing", "."}) {
    EXPECT_FALSE(is_missing(word)) << word;
  }
}

TEST(Field, NumbersAreWholeFields) {
  const std::vector<std::pair<std::string, double>> numbers{
      {"0", 0},        {"-1.5", -1.5},      {" 7 ", 7},
      {"+2e-3", 2e-3}, {".5", 0.5},         {"5.", 5},
      {"1E5", 1e5},    {"inf", INFINITY},   {"-inf", -INFINITY},
      {"007", 7},      {"1e999", INFINITY}, {"123456789.123456789", 123456789.123456789},
  };
  for (const auto& [text, expected] : numbers) {
    double value = 0;
    ASSERT_TRUE(is_number(text, value)) << text;
    EXPECT_EQ(value, expected) << text;
  }
  double value = 0;
  EXPECT_TRUE(is_number("nan", value) && std::isnan(value));
  for (const char* text :
       {"", " ", "-", "+", ".", "1,5", "1 2", "0x10", "1e", "--1", "+-1", "1.2.3", "12a", "$5", "1_000", "e5"}) {
    EXPECT_FALSE(is_number(text, value)) << text;
  }
  EXPECT_FALSE(is_number(std::string_view("1\0", 2), value));
}

}  // namespace
}  // namespace ignd
