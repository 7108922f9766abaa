#include "data/csv_examples.hpp"

#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/example_reader.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

ExampleBlock parse(const CsvExampleParser& parser, std::string_view text) {
  ExampleBlock block;
  const ParseResult result = parser.parse(text, 1, BadRows::stop, block);
  if (result.stopped_at) ADD_FAILURE() << result.stopped_at->line << ": " << result.stopped_at->fault;
  return block;
}

std::map<std::uint32_t, float> features(const ExampleBlock& block, std::size_t i) {
  std::map<std::uint32_t, float> found;
  for (std::size_t k = 0; k < block.indices(i).size(); ++k) found[block.indices(i)[k]] = block.values(i)[k];
  return found;
}

std::string fault_of(const CsvExampleParser& parser, const std::string& line) {
  ExampleBlock block;
  return parser.parse_line(line, 2, block);
}

TEST(CsvExamples, NumbersKeepTheirColumnAndTextsHaveAFeatureEach) {
  const std::string text = "size,town,y\n1.5,a,10\n0,b,20\n-2,a,30\n";
  const CsvExampleParser parser(text, {.target = "y", .weight = {}});
  const ExampleBlock block = parse(parser, text);
  ASSERT_EQ(block.size(), 3U);
  EXPECT_EQ(block.target, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(block.line, (std::vector<std::uint64_t>{2, 3, 4}));
  const auto first = features(block, 0);
  const auto second = features(block, 1);
  const auto third = features(block, 2);
  EXPECT_EQ(first.size(), 2U);
  EXPECT_EQ(second.size(), 1U);  // a zero is no feature
  ASSERT_EQ(third.size(), 2U);
  for (const auto& [index, value] : third) {
    ASSERT_TRUE(first.contains(index));
    EXPECT_EQ(value, value == 1 ? 1 : -2);
  }
  EXPECT_FALSE(first.contains(second.begin()->first));  // another town
}

TEST(CsvExamples, AColumnMeansTheSameWhereverItStands) {
  const std::string one = "a,b,y\n1,2,3\n";
  const std::string other = "y,b,a\n3,2,1\n";
  const ExampleBlock first = parse(CsvExampleParser(one, {.target = "y", .weight = {}}), one);
  const ExampleBlock second = parse(CsvExampleParser(other, {.target = "y", .weight = {}}), other);
  EXPECT_EQ(features(first, 0), features(second, 0));
}

TEST(CsvExamples, MissingAndInfiniteValuesShareAFeatureOfTheirColumn) {
  const std::string text = "a,b,y\n,5,1\nNA,5,1\ninf,5,1\n1e300,5,1\n";
  const ExampleBlock block = parse(CsvExampleParser(text, {.target = "y", .weight = {}}), text);
  ASSERT_EQ(block.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(features(block, i), features(block, 0));
  EXPECT_EQ(features(block, 0).size(), 2U);
}

TEST(CsvExamples, TargetsMayBeTextsAndKeepTheirNames) {
  const std::string text = "x,label\n1,yes\n2,no\n3,yes\n";
  const CsvExampleParser parser(text, {.target = "label", .weight = {}});
  const ExampleBlock block = parse(parser, text);
  EXPECT_EQ(block.target[0], block.target[2]);
  EXPECT_NE(block.target[0], block.target[1]);
  EXPECT_EQ(parser.target_name(block.target[0]), "yes");
  EXPECT_EQ(parser.target_name(block.target[1]), "no");
  EXPECT_EQ(parser.target_name(0.5), "?");
  EXPECT_EQ(CsvExampleParser("x,y\n1,2\n", {.target = "y", .weight = {}}).target_name(2.5), "2.5");
}

TEST(CsvExamples, WeightsAreNoFeatures) {
  const std::string text = "x,w,y\n1,2.5,0\n1,0,0\n";
  const ExampleBlock block = parse(CsvExampleParser(text, {.target = "y", .weight = "w"}), text);
  EXPECT_EQ(block.weight, (std::vector<double>{2.5, 0}));
  EXPECT_EQ(features(block, 0).size(), 1U);
}

TEST(CsvExamples, BadRowsAreDescribed) {
  const CsvExampleParser parser("x,w,y\n1,1,2\n", {.target = "y", .weight = "w"});
  EXPECT_EQ(fault_of(parser, "1,1"), "has 2 fields instead of 3");
  EXPECT_EQ(fault_of(parser, "1,1,"), "the target 'y' is missing");
  EXPECT_EQ(fault_of(parser, "1,1,abc"), "the target 'y' is 'abc', which is not a finite number");
  EXPECT_EQ(fault_of(parser, "1,1,inf"), "the target 'y' is 'inf', which is not a finite number");
  EXPECT_EQ(fault_of(parser, "1,-1,2"), "the weight is '-1', but must be a number of at least 0");
  EXPECT_EQ(fault_of(parser, "1,x,2"), "the weight is 'x', but must be a number of at least 0");
  EXPECT_EQ(fault_of(parser, ""), "");
  EXPECT_EQ(fault_of(parser, "1,1,2"), "");
  EXPECT_EQ(fault_of(parser, "\"1,1,2"), "opens quotes that it does not close; in a stream every row is one line");
}

TEST(CsvExamples, BlankLinesMayComeBeforeTheHeader) {
  const std::string text = "\n\r\n x , y \n1,2\n";
  const ExampleBlock block = parse(CsvExampleParser(text, {.target = "y", .weight = {}}), text);
  EXPECT_EQ(block.target, std::vector<double>{2});
  EXPECT_EQ(block.line, std::vector<std::uint64_t>{4});
}

TEST(CsvExamples, AColumnThatIsNotThereIsRefusedAndTheNearestOffered) {
  try {
    const CsvExampleParser parser("price,size\n1,2\n", {.target = "prize", .weight = {}});
    FAIL() << "not refused";
  } catch (const InvalidArgument& fault) {
    EXPECT_STREQ(fault.what(), "there is no column 'prize', did you mean 'price'?");
  }
}

TEST(CsvExamples, NeedNoTarget) {
  const std::string text = "x,y,z\n1,2,3\n4,,6\n";
  const CsvExampleParser parser(text, {.features = std::vector<std::string>{"z", "x"}});
  EXPECT_EQ(parser.features(), (std::vector<std::string>{"x", "z"}));
  const ExampleBlock block = parse(parser, text);
  ASSERT_EQ(block.size(), 2U);
  EXPECT_TRUE(std::isnan(block.target[0]) && std::isnan(block.target[1]));
  const ExampleBlock with_target = parse(CsvExampleParser("x,z,y\n", {.target = "y"}), "x,z,y\n1,3,0\n4,6,0\n");
  EXPECT_EQ(features(block, 0), features(with_target, 0));
  EXPECT_EQ(features(block, 1), features(with_target, 1));
  EXPECT_THROW(CsvExampleParser(text, {.features = std::vector<std::string>{"w"}}), InvalidArgument);
}

TEST(CsvExamples, TheFirstLabelSaysWhatTheTargetIs) {
  EXPECT_FALSE(CsvExampleParser("x,y\n1,\n1,2\n1,a\n", {.target = "y"}).has_text_target());
  EXPECT_TRUE(CsvExampleParser("x,y\n1,\n1,a\n1,2\n", {.target = "y"}).has_text_target());
  const CsvExampleParser told("x,y\n1,2\n", {.target = "y", .text_target = true});
  EXPECT_TRUE(told.has_text_target());
  EXPECT_EQ(told.target_name(parse(told, "x,y\n1,2\n").target[0]), "2");
  EXPECT_FALSE(CsvExampleParser("x,y\n1,a\n", {.target = "y", .text_target = false}).has_text_target());
}

// The targets in the last column of a text, or what is wrong with it.
std::string read_as_table(const std::string& text, const CsvDialect& dialect) {
  try {
    const Table table = Table::parse_csv(text, {.dialect = dialect});
    std::string read;
    for (const Column& column : table.columns()) read += column.name + " ";
    for (std::size_t row = 0; row < table.size(); ++row) read += format_number(table[row].back()) + " ";
    return read;
  } catch (const Error& fault) {
    return fault.what();
  }
}

// One byte or all of them at a time.
std::string read_as_stream(const std::string& text, const CsvDialect& dialect, const std::string& target,
                           std::size_t block_size) {
  try {
    ExampleReader reader(bytes_of(text, "the text"), ExampleFormat::csv,
                         {.block_size = block_size, .columns = CsvColumns{.target = target}, .dialect = dialect});
    std::string read;
    for (const std::string& name : reader.features()) read += name + " ";
    read += target + " ";
    ExampleBlock block;
    while (reader.next(block)) {
      for (const double y : block.target) read += format_number(y) + " ";
    }
    return read;
  } catch (const Error& fault) {
    return fault.what();
  }
}

TEST(CsvExamples, TablesAndStreamsReadTheSameHeader) {
  struct Case {
    std::string text, target, read;
    CsvDialect dialect = {};
  };
  const std::vector<Case> cases{
      {"x,y\n1,2\n3,4\n", "y", "x y 2 4 "},
      {"\xef\xbb\xbfx,y\n1,2\n3,4\n", "y", "x y 2 4 "},
      {"\xef\xbb\xbf"
       "1,2\n3,4\n",
       "c2", "c1 c2 2 4 "},
      {"\xef\xbb\xbf\n\nx,y\n1,2\n", "y", "x y 2 "},
      {"\n\r\n x , y \n1,2\n", "y", "x y 2 "},
      {",a,,y\n1,2,3,4\n", "y", "c1 a c3 y 4 "},
      {"\"x\",\"the y\"\r\n1,2\r\n3,4\r\n", "the y", "x the y 2 4 "},
      {"x,y\r1,2\r3,4\r", "y", "x y 2 4 "},  // lines end as on old Macs
      {"x,y\r1,2\r3,4", "y", "x y 2 4 "},
      {"1;2\r3;4\r", "c2", "c1 c2 2 4 "},
      {"1,2\n3,4\n", "2", "1 2 4 ", {.delimiter = ',', .header = true}},
      {std::string("\xff\xfex\0,\0y\0\n\0"
                   "1\0,\0"
                   "2\0\n\0",
                   18),
       "y", "the text is UTF-16; save it as UTF-8"},
      {std::string("\xfe\xff\0x\0,\0y\0\n", 10), "y", "the text is UTF-16; save it as UTF-8"},
      {"x,x,y\n1,2,3\n", "y", "the text, line 1: two columns have the name 'x'"},
      {"\nc2,,y\n1,2,3\n", "y", "the text, line 2: two columns have the name 'c2'"},
      {"", "y", "the text is empty"},
      {"\xef\xbb\xbf", "y", "the text is empty"},
      {"\n\n", "y", "the text is empty"},
  };
  for (const auto& [text, target, read, dialect] : cases) {
    EXPECT_EQ(read_as_table(text, dialect), read);
    EXPECT_EQ(read_as_stream(text, dialect, target, LineBlocks::default_size), read);
    EXPECT_EQ(read_as_stream(text, dialect, target, 1), read);
  }
}

TEST(CsvExamples, AHeaderOfSeveralLinesIsRefused) {
  try {
    const CsvExampleParser parser("x,\"the\ny\"\n1,2\n", {.target = "x"});
    FAIL() << "not refused";
  } catch (const FileError& fault) {
    EXPECT_STREQ(fault.what(),
                 "the text: the name of column 'the\\x0ay' takes several lines; in a stream every row is one line");
  }
}

TEST(CsvExamples, TheReaderGuessesThemAndCountsLinesFromTheHeader) {
  const ScratchFolder folder;
  const std::string path = (folder / "data.csv").string();
  std::ofstream(path) << "x;y\n1;2\n3;4\noops\n5;6\n";
  ExampleReader reader(path, {}, {.columns = CsvColumns{.target = "y", .weight = {}}});
  EXPECT_EQ(reader.format(), ExampleFormat::csv);
  ExampleBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.target, (std::vector<double>{2, 4}));
  try {
    reader.next(block);
    FAIL() << "not refused";
  } catch (const FileError& fault) {
    EXPECT_TRUE(std::string(fault.what()).ends_with("line 4: has 1 field instead of 2")) << fault.what();
  }
  ExampleReader skipping(path, {}, {.bad_rows = BadRows::skip, .columns = CsvColumns{.target = "y", .weight = {}}});
  ASSERT_TRUE(skipping.next(block));
  EXPECT_EQ(block.target, (std::vector<double>{2, 4, 6}));
  EXPECT_FALSE(skipping.next(block));
  EXPECT_EQ(skipping.skipped_rows(), 1U);
}

TEST(CsvExamples, WithoutATargetTheyAreNotGuessed) {
  const ScratchFolder folder;
  const std::string path = (folder / "data.csv").string();
  std::ofstream(path) << "x,y\n1,2\n";
  EXPECT_THROW(ExampleReader(path, {}), InvalidArgument);
  EXPECT_THROW(ExampleReader(path, ExampleFormat::csv), InvalidArgument);
}

TEST(CsvExamples, CellsAreReadAsTheBeginningShowsThem) {
  const std::string text = "day,cost,y\n2024-03-01,\"$1,200\",$5\n2024-03-01 06:00,$7,\"$1,000\"\nsoon,$3,$4\n";
  const std::string beginning = text.substr(0, text.find("soon"));
  const CsvExampleParser parser(beginning, {.target = "y", .weight = {}});
  EXPECT_FALSE(parser.has_text_target());
  const ExampleBlock block = parse(parser, text);
  EXPECT_EQ(block.target, (std::vector<double>{5, 1000, 4}));
  const auto formats = parser.formats();
  ASSERT_EQ(formats.size(), 3U);
  EXPECT_EQ(formats.at("day").describe(), "date");
  EXPECT_EQ(formats.at("cost").describe(), "number with currency $, thousands separators");

  // The year, the time since 2000, and the cycles but for those that are at their beginning.
  const auto values = [&](std::size_t i) {
    std::vector<float> all;
    for (const auto& [index, value] : features(block, i)) all.push_back(value);
    std::ranges::sort(all);
    return all;
  };
  EXPECT_EQ(values(0).size(), 1U + 1 + 1 + 6);
  EXPECT_EQ(values(0).back(), 1200);
  EXPECT_EQ(values(1).size(), 1U + 1 + 1 + 8);       // at six in the morning
  EXPECT_EQ(values(2), (std::vector<float>{1, 3}));  // a text, as any other

  // A model that knows the formats reads a file by them, whatever it begins with; one that knows of none, by none.
  const CsvExampleParser again("day,cost,y\nsoon,3,4\n", {.target = "y", .weight = {}, .formats = formats});
  const ExampleBlock same = parse(again, text);
  EXPECT_EQ(same.index, block.index);
  EXPECT_EQ(same.value, block.value);
  const CsvExampleParser old(text, {.target = "y", .weight = {}, .formats = std::map<std::string, CellFormat>()});
  EXPECT_TRUE(old.has_text_target());
  EXPECT_EQ(features(parse(old, text), 0).size(), 2U);
}

TEST(CsvExamples, TheDecimalMarkMayBeGiven) {
  const std::string text = "x;y\n1.200;1,5\n3.400;2\n";
  const CsvExampleParser parser(text, {.target = "y", .weight = {}, .decimal_comma = true});
  const ExampleBlock block = parse(parser, text);
  EXPECT_EQ(block.target, (std::vector<double>{1.5, 2}));
  EXPECT_EQ(block.value, (std::vector<float>{1200, 3400}));
}

}  // namespace
}  // namespace ignd::testing
