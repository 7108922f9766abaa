#include "data/table.hpp"

#include "base/text.hpp"
#include "csv_writer.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace ignd {
namespace {

using Fields = std::vector<std::string>;

const std::string remedy = "; --bad-rows skip ignores such rows";  // NOLINT(cert-err58-cpp)

// Every way of reading that must not matter: one and two threads, blocks from smaller than a row to larger than a file.
std::vector<TableOptions> ways() {
  std::vector<TableOptions> all;
  for (const unsigned threads : {1U, 2U}) {
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}, TableOptions{}.block}) {
      all.push_back({.dialect = {}, .threads = threads, .block = block});
    }
  }
  return all;
}

// What a cell says, as text: numbers in their shortest form, "" where it is missing.
std::string cell(const Table& table, std::size_t row, std::size_t column) {
  const double value = table[row][column];
  if (std::isnan(value)) return "";
  const Column& about = table.columns()[column];
  return about.kind == ColumnKind::number ? fmt::format("{}", value)
                                          : about.labels.at(static_cast<std::uint64_t>(value));
}

Fields names(const Table& table) {
  Fields all;
  for (const Column& column : table.columns()) all.push_back(column.name);
  return all;
}

std::vector<Fields> cells(const Table& table) {
  std::vector<Fields> rows(table.size());
  for (std::size_t r = 0; r < table.size(); ++r) {
    for (std::size_t c = 0; c < table.columns().size(); ++c) rows[r].push_back(cell(table, r, c));
  }
  return rows;
}

void expect_table(std::string_view text, const Fields& expected_names, const std::vector<Fields>& expected) {
  for (const TableOptions& way : ways()) {
    const Table table = Table::parse_csv(text, way);
    EXPECT_EQ(names(table), expected_names) << way.threads << ' ' << way.block;
    EXPECT_EQ(cells(table), expected) << way.threads << ' ' << way.block;
  }
}

std::string fault_of(std::string_view text, const TableOptions& options) {
  try {
    Table::parse_csv(text, options);
  } catch (const Error& fault) {
    return fault.what();
  }
  return "none";
}

void expect_fault(std::string_view text, const std::string& expected) {
  for (const TableOptions& way : ways()) EXPECT_EQ(fault_of(text, way), expected) << way.threads << ' ' << way.block;
}

std::string read_fault(const std::string& path, const TableOptions& options = {}) {
  try {
    Table::read_csv(path, options);
  } catch (const FileError& fault) {
    return fault.what();
  }
  return "none";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void write_gzip(const std::filesystem::path& path, std::string_view bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

// Standard input from a file as long as it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& path) : before_(dup(STDIN_FILENO)) {
    const int file = open(path.c_str(), O_RDONLY);
    dup2(file, STDIN_FILENO);
    close(file);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  StandardInput(StandardInput&&) = delete;
  StandardInput& operator=(StandardInput&&) = delete;
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST(Table, ReadsNumbersTextsAndMissingValues) {
  expect_table("x,y,z\n1,a,\n-2.5,,7\nNA,b b,?\n", {"x", "y", "z"},
               {{"1", "a", ""}, {"-2.5", "", "7"}, {"", "b b", ""}});
}

TEST(Table, RandomTablesRoundTrip) {
  RandomStream stream(1, "tables");
  const testing::ScratchFolder folder;
  for (int trial = 0; trial < 40; ++trial) {
    const std::size_t width = 2 + stream.below(5);
    const std::size_t height = 1 + stream.below(trial % 4 == 0 ? 400 : 6);
    const bool with_texts = trial % 2 == 0;
    const char delimiter = ",;\t|"[stream.below(4)];
    const std::string line_end = stream.below(2) == 0 ? "\n" : "\r\n";
    Fields header;
    for (std::size_t c = 0; c < width; ++c) header.push_back(fmt::format("column {}", c));
    std::string text = testing::csv_row(header, delimiter, stream) + line_end;
    std::vector<Fields> rows(height, Fields(width));
    for (Fields& row : rows) {
      for (std::size_t c = 0; c < width; ++c) {
        if (stream.below(10) == 0) continue;
        if (with_texts && c % 2 == 0) {
          row[c] = fmt::format("t{}{}", stream.below(20), std::string_view(",\n\"; \txy").substr(stream.below(9)));
        } else {
          row[c] = fmt::format("{}", c % 3 == 0 ? stream.normal() : std::floor(1000 * stream.normal()));
        }
      }
      text += testing::csv_row(row, delimiter, stream) + line_end;
    }
    // Columns of which every value is missing or empty are numbers; texts come back without blanks at their ends.
    for (Fields& row : rows) {
      for (std::string& field : row) field = std::string(trim(field));
    }
    if (stream.below(3) == 0) text.resize(text.size() - line_end.size());
    write(folder / "table.csv", text);
    for (TableOptions way : ways()) {
      way.dialect = {delimiter, true};
      const Table table = Table::read_csv((folder / "table.csv").string(), way);
      ASSERT_EQ(names(table), header);
      ASSERT_EQ(cells(table), rows) << text;
    }
  }
}

TEST(Table, ManyRowsAreTheSameOnOneAndTwoThreadsAndOnDisk) {
  RandomStream stream(2, "tables");
  std::string text = "a,b,c\n";
  std::vector<std::array<double, 2>> expected;
  for (int r = 0; r < 60'000; ++r) {
    expected.push_back({stream.normal(), std::floor(100 * stream.normal())});
    text += fmt::format("{},t{},{}\n", expected.back()[0], r % 7, expected.back()[1]);
  }
  for (const unsigned threads : {1U, 2U}) {
    for (const std::size_t memory : {std::size_t{0}, RowStore::default_memory}) {
      const Table table = Table::parse_csv(text, {.dialect = {}, .threads = threads, .memory = memory});
      ASSERT_EQ(table.size(), expected.size());
      EXPECT_EQ(table.columns()[1].labels.size(), 7U);
      for (std::size_t r = 0; r < table.size(); ++r) {
        ASSERT_EQ(table[r][0], expected[r][0]);
        ASSERT_EQ(cell(table, r, 1), fmt::format("t{}", r % 7));
        ASSERT_EQ(table[r][2], expected[r][1]);
      }
    }
  }
}

TEST(Table, AColumnIsTextIfOneValueOfItIs) {
  // Far behind the rows that the first guess is made from.
  std::string text = "a,b,c\n";
  for (int r = 0; r < 5000; ++r)
    text += fmt::format("{},00{},{}\n", r, r % 3, r == 4000 ? "x" : r == 4500 ? "" : "2.50");
  text += "1,y,3\n";
  for (const TableOptions& way : ways()) {
    if (way.block == 1) continue;  // slow
    const Table table = Table::parse_csv(text, way);
    EXPECT_EQ(table.columns()[0].kind, ColumnKind::number);
    EXPECT_EQ(table.columns()[1].kind, ColumnKind::text);
    EXPECT_EQ(table.columns()[2].kind, ColumnKind::text);
    EXPECT_EQ(cell(table, 4, 1), "001");
    EXPECT_EQ(cell(table, 0, 2), "2.50");
    EXPECT_EQ(cell(table, 4000, 2), "x");
    EXPECT_EQ(cell(table, 4500, 2), "");
    EXPECT_EQ(table.size(), 5001U);
  }
}

TEST(Table, ANumberMayBeAboveItsMedian) {
  const Table table =
      Table::parse_csv("a,b\n5,x\n1,y\n,x\n3,x\n4,y\n2,x\n", {.dialect = {.delimiter = ',', .header = true}});
  const Table classes = table.above_median(0);
  ASSERT_EQ(classes.size(), 6U);
  const double missing = std::nan("");
  const std::vector<double> wanted{1, 0, missing, 0, 1, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(classes[i][0] == wanted[i] || (std::isnan(wanted[i]) && std::isnan(classes[i][0]))) << i;
    EXPECT_EQ(classes[i][1], table[i][1]);
  }
  EXPECT_THROW(table.above_median(1), InvalidArgument);
}

TEST(Table, AColumnMayBeAskedForAsText) {
  const Table table = Table::parse_csv("a,b\n01,1\n1,2\n", {.dialect = {}, .texts = {"a", "no such column"}});
  EXPECT_EQ(table.columns()[0].kind, ColumnKind::text);
  EXPECT_EQ(cells(table), (std::vector<Fields>{{"01", "1"}, {"1", "2"}}));
}

TEST(Table, TheHeaderIsGivenOrGuessed) {
  EXPECT_EQ(names(Table::parse_csv("a,b\n1,2\n", {})), (Fields{"a", "b"}));
  EXPECT_EQ(names(Table::parse_csv("1,2\n3,4\n", {})), (Fields{"c1", "c2"}));
  EXPECT_EQ(cells(Table::parse_csv("1,2\n3,4\n", {})), (std::vector<Fields>{{"1", "2"}, {"3", "4"}}));
  const Table no = Table::parse_csv("a,b\n1,2\n", {.dialect = {.delimiter = {}, .header = false}});
  EXPECT_EQ(cells(no), (std::vector<Fields>{{"a", "b"}, {"1", "2"}}));
  const Table yes = Table::parse_csv("1,2\n3,4\n", {.dialect = {.delimiter = {}, .header = true}});
  EXPECT_EQ(names(yes), (Fields{"1", "2"}));
  EXPECT_EQ(yes.size(), 1U);
  EXPECT_EQ(yes.dialect().delimiter, ',');
  EXPECT_EQ(yes.dialect().header, true);
}

TEST(Table, NamesAreTrimmedAndMadeUpWhereThereAreNone) {
  EXPECT_EQ(names(Table::parse_csv(" a ,,\"b\nc\"\n1,2,3\n", {})), (Fields{"a", "c2", "b\nc"}));
}

TEST(Table, BlankLinesAreSkipped) {
  expect_table("\n  \n\na,b\n\n1,2\n\t\n\r\n3,4\n\n\n", {"a", "b"}, {{"1", "2"}, {"3", "4"}});
}

TEST(Table, InOneColumnABlankLineIsAMissingValue) { expect_table("a\n1\n\n3\n", {"a"}, {{"1"}, {""}, {"3"}}); }

TEST(Table, ASingleCellIsATable) { expect_table("1", {"c1"}, {{"1"}}); }

TEST(Table, RaggedRowsAreNamedByLine) {
  std::string text = "a,b\n\n";  // blank lines count
  for (int r = 0; r < 100; ++r) text += "1,2\n";
  for (const int bad : {3, 4, 50, 99, 102}) {
    std::string broken = text;
    broken.replace(5 + 4 * static_cast<std::size_t>(bad - 3), 3, "123");
    expect_fault(broken, fmt::format("the text, line {}: has 1 field instead of 2", bad) + remedy);
  }
  expect_fault(text + "1,2,3", "the text, line 103: has 3 fields instead of 2" + remedy);
  expect_fault("a,b\n\"x\ny\",1\n\"x\n\n\",1\n1,2,3\n", "the text, line 7: has 3 fields instead of 2" + remedy);
}

// Rows with a word among the numbers, rows of another number of fields, and ids in quotes and without.
TEST(Table, BadRowsStayInTheirPlaceAndFieldsAreKept) {
  RandomStream stream(4, "bad rows");
  for (int trial = 0; trial < 60; ++trial) {
    std::string text = "id,x,note,n\n";
    std::vector<std::size_t> bad;
    std::vector<Fields> kept;
    std::string first;
    const std::size_t rows = 1 + stream.below(60);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string id = fmt::format("{}{}", stream.below(2) == 0 ? "a," : "b", row);
      const std::string note = stream.below(2) == 0 ? "7" : "ok";
      const bool quoted = id[1] == ',' || stream.below(3) == 0;
      const std::uint64_t kind = stream.below(8);
      std::string fault;
      kept.push_back({note, id});
      if (kind == 0) {
        text += stream.below(2) == 0 ? "1\n" : "1,2,3,4,5,6\n";
        fault = fmt::format("has {} instead of 4", text.ends_with("6\n") ? "6 fields" : "1 field");
        kept.back() = {"", ""};
      } else {
        text += fmt::format("{},{},{},{}\n", quoted ? "\"" + id + "\"" : id, kind == 1 ? "oops" : "3", note,
                            kind == 2 ? "NA" : "4");
        if (kind == 1) fault = "column 'x' is 'oops', not a number";
      }
      if (fault.empty()) continue;
      if (bad.empty()) first = fmt::format("line {}: {}", row + 2, fault);
      bad.push_back(row);
    }
    for (TableOptions way : ways()) {
      way.dialect = {.delimiter = ',', .header = true};
      way.formats = {{"x", {}}, {"n", {}}, {"elsewhere", {}}};
      way.keep = {"note", "id"};
      way.texts = {"id", "note"};
      way.skip_bad_rows = true;
      const Table table = Table::parse_csv(text, way);
      ASSERT_EQ(table.size(), rows);
      EXPECT_EQ(table.bad_rows(), bad);
      EXPECT_EQ(table.first_fault(), first);
      for (std::size_t row = 0; row < rows; ++row) {
        EXPECT_EQ(table.kept(row), kept[row]);
        EXPECT_EQ(table.is_bad(row), std::ranges::binary_search(bad, row));
        EXPECT_EQ(cell(table, row, 1), table.is_bad(row) ? "" : "3");
      }
      EXPECT_EQ(table.columns()[1].kind, ColumnKind::number);
      way.skip_bad_rows = false;
      try {
        Table::parse_csv(text, way);
        EXPECT_TRUE(bad.empty());
      } catch (const FileError& fault) {
        ASSERT_FALSE(bad.empty());
        const std::string row = first.ends_with("number") ? fmt::format(" (row {})", bad[0] + 1) : "";
        const std::size_t colon = first.find(':');
        EXPECT_EQ(std::string(fault.what()),
                  "the text, " + first.substr(0, colon) + row + first.substr(colon) + remedy);
      }
    }
  }
}

TEST(Table, TheFirstOfSeveralFaultsIsReported) {
  std::string text = "a,b\n";
  for (int r = 0; r < 100; ++r) text += r == 20 || r == 80 ? "1\n" : "1,2\n";
  expect_fault(text, "the text, line 22: has 1 field instead of 2" + remedy);
}

TEST(Table, QuotesThatStayOpenAreRefused) {
  expect_fault("a,b\n1,2\n3,\"x\n5,6\n", "the text, line 3: opens quotes that are never closed");
  expect_fault("\"a,b\n1,2\n", "the text, line 1: opens quotes that are never closed");
}

TEST(Table, WhatIsNoTableIsRefused) {
  expect_fault("", "the text is empty");
  expect_fault("\n\n \n", "the text is empty");
  expect_fault("\xef\xbb\xbf", "the text is empty");
  expect_fault("a,b\n", "the text has no rows below its header");
  expect_fault("a,b\n\n\n", "the text has no rows below its header");
  expect_fault("a,b,a\n1,2,3\n", "the text, line 1: two columns have the name 'a'");
  expect_fault("\n\na,b, a \n1,2,3\n", "the text, line 3: two columns have the name 'a'");
  expect_fault(std::string_view("\xff\xfe"
                                "a\0,\0",
                                6),
               "the text is UTF-16; save it as UTF-8");
}

TEST(Table, TooManyColumnsAreRefused) {
  const std::string text = std::string(100'000, ',') + "\n";
  EXPECT_EQ(fault_of(text, {}), "the text, line 1: has 100001 fields; at most 100000 are allowed");
}

TEST(Table, SomeDelimitersAreImpossible) {
  for (const char delimiter : {'"', '\n', '\r'}) {
    EXPECT_THROW(Table::parse_csv("a,b\n1,2\n", {.dialect = {.delimiter = delimiter, .header = {}}}), InvalidArgument);
  }
}

TEST(Table, ARowMayBeLongButNotEndless) {
  const std::string mib(std::size_t{1} << 20, 'x');
  const std::string refused = "the row is longer than 4 MiB; is a quote or a line end missing?";
  for (const unsigned threads : {1U, 2U}) {
    const TableOptions way{.dialect = {}, .threads = threads};
    const Table table = Table::parse_csv("a,b\n1,2\n" + mib + mib + mib + ",2\n3,4\n", way);
    EXPECT_EQ(table.size(), 3U);
    EXPECT_EQ(cell(table, 1, 0).size(), 3 * mib.size());
    std::string ten;
    for (int i = 0; i < 10; ++i) ten += mib;
    EXPECT_EQ(fault_of("a,b\n1,2\n" + ten + ",2\n3,4\n", way), "the text, line 3: " + refused);
    EXPECT_EQ(fault_of("a,b\n1,2\n\"" + ten, way), "the text, line 3: " + refused);
    EXPECT_EQ(fault_of(ten, way), "the text, line 1: " + refused);
    EXPECT_EQ(fault_of("\"" + ten, way), "the text, line 1: " + refused);
    EXPECT_EQ(Table::parse_csv(mib + mib + ",b\n1,2\n", way).columns()[0].name.size(), 2 * mib.size());
  }
}

TEST(Table, AnyBytesMayBeInATextColumn) {
  const std::string odd("\xff\0\x80 \x1b", 5);
  expect_table("a,b\n" + odd + ",1\n", {"a", "b"}, {{odd, "1"}});
}

TEST(Table, TheMarkOfUtf8IsNoPartOfTheFirstName) {
  expect_table(
      "\xef\xbb\xbf"
      "a,b\n1,2\n",
      {"a", "b"}, {{"1", "2"}});
}

TEST(Table, InfiniteIsANumberAndNaNIsMissing) {
  for (const TableOptions& way : ways()) {
    const Table table = Table::parse_csv("a,b,c\ninf,1e999,NaN\n-inf,-Infinity,nan\n1, 2 ,NA\n", way);
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(table.columns()[c].kind, ColumnKind::number);
    EXPECT_EQ(table[0][0], inf);
    EXPECT_EQ(table[0][1], inf);
    EXPECT_EQ(table[1][0], -inf);
    EXPECT_EQ(table[1][1], -inf);
    EXPECT_EQ(table[2][1], 2);
    for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE(std::isnan(table[r][2]));
  }
}

TEST(Table, TooManyTextsHaveCodesButNoLabels) {
  for (const std::size_t different : {most_labels, most_labels + 1}) {
    std::string text = "id,x\n";
    for (std::size_t r = 0; r < 2 * different; ++r) text += fmt::format("t{},y\n", r % different);
    for (const unsigned threads : {1U, 2U}) {
      const Table table = Table::parse_csv(text, {.dialect = {}, .threads = threads, .block = 1000});
      ASSERT_EQ(table.size(), 2 * different);
      EXPECT_EQ(table.columns()[0].labels.size(), different > most_labels ? 0U : different);
      EXPECT_EQ(table.columns()[1].labels.size(), 1U);
      for (std::size_t r = 0; r < table.size(); ++r) {
        ASSERT_EQ(table[r][0], static_cast<double>(text_code(fmt::format("t{}", r % different))));
      }
    }
  }
}

TEST(Table, LabelsAreOfWholeFieldsOnly) {
  std::string text = "a,b\n";
  for (int r = 0; r < 200; ++r) text += "a long text,another one\n";
  for (const TableOptions& way : ways()) {
    const Table table = Table::parse_csv(text, way);
    for (const Column& column : table.columns()) EXPECT_EQ(column.labels.size(), 1U) << way.threads << ' ' << way.block;
  }
}

TEST(Table, TextCodesFitADouble) {
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t code = text_code(fmt::format("{}", i));
    EXPECT_EQ(static_cast<std::uint64_t>(static_cast<double>(code)), code);
  }
  EXPECT_NE(text_code("a"), text_code("b"));
}

TEST(Table, ReadsGzip) {
  const testing::ScratchFolder folder;
  std::string text = "a,b\n";
  for (int r = 0; r < 50'000; ++r) text += fmt::format("{},t{}\n", r, r);
  write_gzip(folder / "table.csv.gz", text);
  for (const unsigned threads : {1U, 2U}) {
    const Table table = Table::read_csv((folder / "table.csv.gz").string(), {.dialect = {}, .threads = threads});
    ASSERT_EQ(table.size(), 50'000U);
    EXPECT_EQ(table[49'999][0], 49'999);
  }
  std::filesystem::resize_file(folder / "table.csv.gz", std::filesystem::file_size(folder / "table.csv.gz") - 5);
  EXPECT_TRUE(has(read_fault((folder / "table.csv.gz").string()), "is truncated gzip"));
}

TEST(Table, WhatCannotBeReadIsNamed) {
  const testing::ScratchFolder folder;
  EXPECT_TRUE(has(read_fault((folder / "none.csv").string()), "none.csv': No such file"));
  EXPECT_TRUE(has(read_fault((folder / "").string()), "is a folder"));
  EXPECT_TRUE(has(read_fault(std::string(5000, 'x')), "cannot open"));
  write(folder / "empty.csv", "");
  EXPECT_TRUE(has(read_fault((folder / "empty.csv").string()), "empty.csv' is empty"));
  write(folder / "ragged.csv", "a,b\n1\n");
  EXPECT_TRUE(has(read_fault((folder / "ragged.csv").string()), "ragged.csv', line 2: has 1 field instead of 2"));
}

TEST(Table, ReadsTheStandardInputOnce) {
  const testing::ScratchFolder folder;
  write(folder / "good.csv", "a,b\n1,x\n2,y\n");
  {
    const StandardInput input(folder / "good.csv");
    EXPECT_EQ(cells(Table::read_csv("-", {})), (std::vector<Fields>{{"1", "x"}, {"2", "y"}}));
  }
  std::string text = "a,b,c\n";
  for (int r = 0; r < 2000; ++r) text += "1,2,3\n";
  write(folder / "late.csv", text + "1,x,y\n");
  const StandardInput input(folder / "late.csv");
  EXPECT_EQ(
      read_fault("-"),
      "the standard input, column 'b' and 'c': began with numbers, but has other values; use a file, which can be read "
      "again");
}

TEST(Table, APipeIsNotReadTwice) {
  const testing::ScratchFolder folder;
  const std::string path = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text = "a\n";
  for (int r = 0; r < 1500; ++r) text += "1\n";
  const std::jthread writer([&] { write(path, text + "x\n"); });
  EXPECT_TRUE(has(read_fault(path), "use a file"));
}

TEST(Table, FindOffersTheNearestName) {
  const Table table = Table::parse_csv("price,size\n1,2\n", {});
  EXPECT_EQ(table.find("size"), 1U);
  try {
    table.find("prize");
    FAIL();
  } catch (const InvalidArgument& fault) {
    EXPECT_TRUE(has(fault.what(), "did you mean 'price'?")) << fault.what();
  }
}

TEST(Table, BlankLinesBeforeTheHeaderMayBeMany) {
  const std::string blank(std::size_t{3} << 20, '\n');
  const Table table = Table::parse_csv(blank + "x,y\n1,2\n", {});
  EXPECT_EQ(names(table), (Fields{"x", "y"}));
  EXPECT_EQ(cells(table), (std::vector<Fields>{{"1", "2"}}));
}

TEST(Table, SvmlightIsToldFromTables) {
  const testing::ScratchFolder folder;
  const std::string sparse = folder / "sparse";
  std::ofstream(sparse) << "1 2:0.5 3:-1\n-1 1:2\n";
  const Table table = Table::read(sparse, {});
  EXPECT_EQ(names(table), (Fields{"label", "0", "1", "2", "3"}));
  EXPECT_EQ(cells(table), (std::vector<Fields>{{"1", "0", "0", "0.5", "-1"}, {"-1", "0", "2", "0", "0"}}));

  const std::string dense = folder / "dense";
  std::ofstream(dense) << "a|b\n1|2\n";
  EXPECT_EQ(names(Table::read(dense, {})), (Fields{"a", "b"}));

  const std::string wide = folder / "wide";
  std::ofstream(wide) << "1 5000:1\n";
  EXPECT_THROW(Table::read(wide, {}), FileError);
  EXPECT_THROW(Table::read(folder / "nothing", {}), FileError);
}

// What was looked at to guess the format must not be lost.
TEST(Table, APipeIsReadFromItsFirstByte) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(path) << "x,y\n1,2\n3,4\n"; });
  const Table table = Table::read(path, {});
  EXPECT_EQ(names(table), (Fields{"x", "y"}));
  EXPECT_EQ(table.size(), 2U);
}

TEST(Table, GarbageIsReadOrRefused) {
  RandomStream stream(3, "tables");
  const std::string letters("\",;\n\r\t|1.-eax\0\xff ", 16);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    for (std::uint64_t n = stream.below(60); n > 0; --n) text += letters[stream.below(letters.size())];
    // However it is read, the outcome is the same.
    std::string first;
    for (const TableOptions& way : ways()) {
      // Handing halves of a short text to a second thread takes most of the time, minutes under the thread sanitizer.
      if (way.threads > 1 && trial % 5 != 0) continue;
      std::string outcome;
      try {
        for (const Fields& row : cells(Table::parse_csv(text, way)))
          outcome += fmt::format("{}\n", fmt::join(row, "\x01"));
      } catch (const FileError& fault) {
        outcome = fault.what();
      }
      if (first.empty()) first = outcome;
      ASSERT_EQ(outcome, first) << text;
    }
  }
}

// Some rows of plain numbers, more than are looked at to guess.
std::string many_lines(const std::string& line) {
  std::string lines;
  for (int i = 0; i < 1500; ++i) lines += line + "\n";
  return lines;
}

TEST(Table, RecognisesNumbersAndDatesInTexts) {
  const std::string text =
      "day;cost;share;size;name\n"
      "2024-03-01;$1,200;12 %;1.234,56;a\n"
      "1970-01-02;($3);5%;7;b\n"
      ";;;;\n";
  for (const TableOptions& way : ways()) {
    const Table table = Table::parse_csv(text, way);
    EXPECT_EQ(cells(table)[1], (Fields{"86400", "-3", "5", "7", "b"}));
    EXPECT_EQ(cells(table)[0], (Fields{"1709251200", "1200", "12", "1234.56", "a"}));
    EXPECT_EQ(cells(table)[2], (Fields{"", "", "", "", ""}));
    EXPECT_EQ(table.columns()[0].format.describe(), "date");
    EXPECT_EQ(table.columns()[4].format.describe(), "number");
    EXPECT_EQ(table.columns()[4].kind, ColumnKind::text);
  }
}

TEST(Table, AFirstRowOfDatesOrMoneyIsData) {
  expect_table("1970-01-02,$5\n1970-01-03,$6\n", {"c1", "c2"}, {{"86400", "5"}, {"172800", "6"}});
  expect_table("day,cost\n1970-01-03,$6\n", {"day", "cost"}, {{"172800", "6"}});
}

TEST(Table, AFormatIsThatOfAllRows) {
  const std::string plain = "d,y\n" + many_lines("01/02/2024,1");
  const auto format = [](const std::string& text) {
    std::string found;
    for (const TableOptions& way : ways()) {
      if (way.block == 1) continue;
      const Table table = Table::parse_csv(text, way);
      const Column& column = table.columns()[0];
      const std::string is = column.kind == ColumnKind::text ? "text" : column.format.describe();
      EXPECT_TRUE(found.empty() || found == is) << found << ' ' << is;
      found = is;
    }
    return found;
  };
  EXPECT_EQ(format(plain), "text");
  EXPECT_EQ(Table::parse_csv(plain, {}).columns()[0].doubt, "its dates may have the day first or the month first");
  EXPECT_EQ(format(plain + "31/12/2024,1\n"), "date, day first");
  EXPECT_EQ(format(plain + "12/31/2024,1\n"), "date, month first");
  EXPECT_EQ(format("d,y\n31/12/2024,1\n" + many_lines("01/02/2024,1") + "12/31/2024,1\n"), "text");
  EXPECT_EQ(format("d,y\n" + many_lines("2024-01-01,1") + "soon,1\n"), "text");
  EXPECT_EQ(format("d,y\n" + many_lines("950,1") + "\"1,200\",1\n"), "number with thousands separators");
  EXPECT_EQ(format("d;y\n" + many_lines("1,200;1") + "12,5;1\n"), "number with decimal comma");
  EXPECT_EQ(format("d,y\n" + many_lines("5,1") + "none at all,1\n"), "text");
  EXPECT_EQ(format("d,y\n" + many_lines("5,1") + "2024-01-01,1\n"), "text");
}

TEST(Table, TheRestOfTheFileShowsTheDecimalMark) {
  const auto first = [](const std::string& text, std::optional<bool> comma = {}) {
    return cell(Table::parse_csv(text, {.dialect = {.delimiter = ';', .header = true}, .decimal_comma = comma}), 0, 0);
  };
  EXPECT_EQ(first("a;b\n1,200;5\n3,450;7\n"), "1200");
  EXPECT_EQ(first("a;b\n1,200;12,5\n3,450;7,5\n"), "1.2");
  EXPECT_EQ(first("a;b\n1,200;12.5\n3,450;7.5\n"), "1200");
  EXPECT_EQ(first("a;b\n1,200;5\n3,450;7\n", true), "1.2");
  EXPECT_EQ(first("a;b\n1.200;5\n3.450;7\n"), "1.2");
  EXPECT_EQ(first("a;b\n1.200;5\n3.450;7\n", true), "1200");
  EXPECT_EQ(first("a;b\n12,5;5\n3,45;7\n", false), "12,5");  // a text
  EXPECT_EQ(first("a;b\n12.5;5\n3.45;7\n", true), "12.5");
  const Table table = Table::parse_csv("a;b\n12.5;5\n3.45;7\n", {.dialect = {}, .decimal_comma = true});
  EXPECT_EQ(table.columns()[0].kind, ColumnKind::text);
  EXPECT_EQ(table.columns()[0].doubt, "its numbers have a decimal point, which --decimal excludes");
}

TEST(Table, CellsThatDoNotFitAGivenFormatMakeTheirRowsBad) {
  const std::map<std::string, CellFormat> formats{{"d", CellFormat::parse("date:order=day-first")}};
  const std::string text = "d,y\n02/01/1970,1\nsoon,2\n,3\n12/31/1970,4\n";
  for (TableOptions way : ways()) {
    way.formats = formats;
    way.skip_bad_rows = true;
    const Table table = Table::parse_csv(text, way);
    EXPECT_EQ(cells(table), (std::vector<Fields>{{"86400", "1"}, {"", "2"}, {"", "3"}, {"", "4"}}));
    EXPECT_EQ(table.bad_rows(), (std::vector<std::size_t>{1, 3}));
    EXPECT_EQ(table.first_fault(), "line 3: column 'd' is 'soon', not a date, day first");
    way.skip_bad_rows = false;
    EXPECT_THROW(Table::parse_csv(text, way), FileError);
  }
}

TEST(Table, AColumnAskedForAsTextIsNotRecognised) {
  const Table table = Table::parse_csv("d,y\n2024-01-01,1\n", {.dialect = {}, .texts = {"d"}});
  EXPECT_EQ(cell(table, 0, 0), "2024-01-01");
}

}  // namespace
}  // namespace ignd
