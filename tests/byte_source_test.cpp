#include "data/byte_source.hpp"

#include "byte_sources.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "scratch_folder.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

namespace ignd {
namespace {

using testing::read_all;
using testing::ScratchFolder;

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string gzipped(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string random_text(RandomStream& stream, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(stream.below(3) == 0 ? stream.below(256) : 'a' + stream.below(4));
  return text;
}

// What is in the file, or what the error says.
struct Content {
  std::string text;
  std::string error;
};

Content read_file(const std::filesystem::path& path, std::size_t at_once = 4096) {
  Content content;
  try {
    content.text = read_all(*open_bytes(path.string()), at_once);
  } catch (const FileError& error) {
    content.error = error.what();
  }
  return content;
}

TEST(ByteSource, ReadsPlainFilesInAnySteps) {
  const ScratchFolder folder;
  RandomStream stream(1, "text");
  for (const std::size_t size : {0U, 1U, 2U, 3U, 100U, 5000U, 300000U}) {
    const std::string text = random_text(stream, size);
    write_bytes(folder / "plain", text);
    for (const std::size_t at_once : {1U, 2U, 7U, 4096U, 1000000U}) {
      EXPECT_EQ(read_file(folder / "plain", at_once).text, text);
    }
  }
}

TEST(ByteSource, UnpacksGzipInAnySteps) {
  const ScratchFolder folder;
  RandomStream stream(2, "text");
  for (const std::size_t size : {0U, 1U, 2U, 100U, 5000U, 900000U}) {
    const std::string text = random_text(stream, size);
    write_bytes(folder / "packed", gzipped(text));
    for (const std::size_t at_once : {1U, 7U, 4096U, 1000000U}) {
      EXPECT_EQ(read_file(folder / "packed", at_once).text, text);
    }
  }
}

TEST(ByteSource, UnpacksSeveralMembers) {
  const ScratchFolder folder;
  RandomStream stream(3, "text");
  std::string packed;
  std::string text;
  for (const std::size_t size : {10U, 0U, 300000U, 1U, 0U}) {
    const std::string part = random_text(stream, size);
    text += part;
    packed += gzipped(part);
  }
  write_bytes(folder / "members", packed);
  for (const std::size_t at_once : {1U, 4096U, 1000000U}) EXPECT_EQ(read_file(folder / "members", at_once).text, text);
}

TEST(ByteSource, NoticesThatGzipEndsTooEarly) {
  const ScratchFolder folder;
  RandomStream stream(4, "text");
  const std::string first = gzipped(random_text(stream, 200));
  const std::string packed = first + gzipped(random_text(stream, 300));
  for (std::size_t size = 2; size < packed.size(); ++size) {
    if (size == first.size()) continue;  // a whole file
    write_bytes(folder / "cut", packed.substr(0, size));
    const std::string error = read_file(folder / "cut").error;
    EXPECT_NE(error.find("is truncated gzip"), std::string::npos) << size << ": " << error;
    EXPECT_NE(error.find((folder / "cut").string()), std::string::npos) << error;
  }
}

TEST(ByteSource, NeverUnpacksFlippedBitsIntoSomethingElse) {
  const ScratchFolder folder;
  RandomStream stream(5, "text");
  const std::string text = random_text(stream, 100);
  const std::string packed = gzipped(text);
  for (std::size_t bit = 16; bit < 8 * packed.size(); ++bit) {
    std::string flipped = packed;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(folder / "flipped", flipped);
    const Content content = read_file(folder / "flipped");
    if (content.error.empty()) {
      EXPECT_EQ(content.text, text) << bit;
    }
  }
}

TEST(ByteSource, RefusesBytesBehindGzip) {
  const ScratchFolder folder;
  write_bytes(folder / "more", gzipped("text\n") + "more");
  EXPECT_NE(read_file(folder / "more").error.find("is broken gzip"), std::string::npos);
}

TEST(ByteSource, TakesZerosBehindGzipForPadding) {
  const ScratchFolder folder;
  const std::string packed = gzipped("text\n") + gzipped("more\n");
  for (const std::size_t zeros : {1U, 2U, 511U, 1U << 18U, 600000U}) {
    write_bytes(folder / "padded", packed + std::string(zeros, '\0'));
    const Content content = read_file(folder / "padded");
    EXPECT_EQ(content.error, "") << zeros;
    EXPECT_EQ(content.text, "text\nmore\n") << zeros;
    for (const std::string& behind : {std::string("x"), gzipped("third\n")}) {
      write_bytes(folder / "more", packed + std::string(zeros, '\0') + behind);
      EXPECT_NE(read_file(folder / "more").error.find("is broken gzip"), std::string::npos) << zeros;
    }
  }
}

TEST(ByteSource, SaysWhyAFileCannotBeRead) {
  const ScratchFolder folder;
  EXPECT_EQ(read_file(folder / "none").error,
            fmt::format("cannot open '{}': No such file or directory", (folder / "none").string()));
  std::filesystem::create_directory(folder / "folder");
  EXPECT_EQ(read_file(folder / "folder").error, fmt::format("'{}' is a folder", (folder / "folder").string()));
  write_bytes(folder / "a\nb", "x");
  EXPECT_EQ(read_file(folder / "a\nb").text, "x");
  EXPECT_EQ(open_bytes((folder / "a\nb").string())->name().find('\n'), std::string::npos);
}

TEST(ByteSource, ReadsPipesAndStopsWaitingForThem) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "some text", 9), 9);
  const auto source = open_bytes(fmt::format("/dev/fd/{}", ends[0]));
  std::string got;
  std::array<char, 100> part{};
  while (got.size() < 9) got.append(part.data(), source->read(part));
  EXPECT_EQ(got, "some text");
  source->stop_waiting();
  EXPECT_EQ(source->read(part), 0U) << "the other end is still open";
  close(ends[0]);
  close(ends[1]);
}

TEST(ByteSource, AnotherFormatIsRefusedHoweverItsBytesArrive) {
  // HDF5 has newlines among its first bytes.
  const std::string bytes = "\x89HDF\r\n\x1a\n1 3:4\n";
  for (const std::size_t piece : {1U, 2U, 3U, 4096U}) {
    EXPECT_THROW(read_all(*as_text(std::make_unique<testing::Pieces>(bytes, piece))), FileError) << piece;
    EXPECT_THROW(read_all(*as_text(bytes_of(bytes, "it")), piece), FileError) << piece;
  }
}

TEST(ByteSource, ATextIsTheSameHoweverItsBytesArrive) {
  const std::string long_line(100'000, 'x');
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", ""},
      {"a", "a"},
      {"a\nb\n", "a\nb\n"},
      {"a\r\nb\r\n", "a\r\nb\r\n"},
      {"a\rb\rc", "a\nb\nc"},
      {"a\rb\nc\r", "a\rb\nc\r"},  // a carriage return in the first line, which ends with a newline
      {"a\r", "a\n"},
      {"\xef\xbb\xbf"
       "a\rb",
       "a\nb"},
      {"\xef\xbb\xbf", ""},
      {"\xef\xbb", "\xef\xbb"},
      {long_line + "\r\n" + long_line, long_line + "\r\n" + long_line},
      {"a\r" + long_line + "\r\n", "a\n" + long_line + "\n\n"},
  };
  for (const auto& [bytes, text] : cases) {
    for (const std::size_t piece : {1U, 2U, 3U, 4096U, 1U << 20U}) {
      EXPECT_EQ(read_all(*as_text(std::make_unique<testing::Pieces>(bytes, piece))), text) << piece;
      EXPECT_EQ(read_all(*as_text(bytes_of(bytes, "it")), piece), text) << piece;
    }
  }
}

TEST(ByteSource, ATextIsNotUtf16) {
  for (const std::string bytes : {"\xff\xfe"
                                  "a",
                                  "\xfe\xff"}) {
    try {
      read_all(*as_text(std::make_unique<testing::Pieces>(bytes, 1)));
      FAIL() << "not refused";
    } catch (const FileError& fault) {
      EXPECT_STREQ(fault.what(), "'pieces' is UTF-16; save it as UTF-8");
    }
  }
}

TEST(ByteSource, RecognisesWhatIsNoTextOfRows) {
  using namespace std::string_literals;
  const std::string zip_front = "PK\3\4"s + std::string(26, '\0');
  const std::vector<std::pair<std::string, std::string>> others{
      {"PAR1\x15\x04\x15\x10"s,
       "a Parquet file; convert it to comma-separated values, in Python with "
       "pandas.read_parquet('FILE').to_csv('data.csv', index=False)"},
      {"ARROW1\0\0\xff\xff"s, "an Arrow (Feather) file; "},
      {"SQLite format 3\0\x10"s, "an SQLite database; export a table with: sqlite3 "},
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"s, "an Excel workbook; save the sheet as CSV"},
      {zip_front + "[Content_Types].xml", "an Excel workbook; save the sheet as CSV"},
      {zip_front + "xl/workbook.xml", "an Excel workbook; save the sheet as CSV"},
      {zip_front + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "an OpenDocument file; "},
      {zip_front + "data.csv", "a zip archive; unpack it first"},
      {"{\"a\": 1, \"y\": 2}\n{\"a\": 2}\n", "a JSON-lines file; "},
      {"\xef\xbb\xbf{\"a\":1}", "a JSON-lines file; "},
      {"{\n  \"a\": [1, 2]\n}\n", "a JSON file; "},
      {"{\"rows\": [\n", "a JSON file; "},
      {" [\n{\"a\": 1}]", "a JSON file; "},
      {"[{\"a\": 1}, {\"a\": 2}]", "a JSON file; "},
      {"<!DOCTYPE html>\n<html>", "a web page; "},
      {"\x28\xb5\x2f\xfd\x04", "compressed by zstd; "},
      {"\xfd"
       "7zXZ\0\0"s,
       "compressed by xz; "},
      {"BZh91AY&SY", "compressed by bzip2; "},
  };
  for (const auto& [bytes, what] : others) {
    for (const std::size_t piece : {1U, 7U, 4096U}) {
      try {
        read_all(*as_text(std::make_unique<testing::Pieces>(bytes, piece)));
        ADD_FAILURE() << "not refused: " << what;
      } catch (const FileError& fault) {
        const std::string message = fault.what();
        EXPECT_TRUE(message.starts_with("'pieces' is " + what)) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      }
    }
  }
  for (const std::string text : {"PAR1,PAR2\n1,2\n", "PAR1\n3\n", "ARROW1,y\n", "{a},{b}\n1,2\n", "{\"a\":1},5\n",
                                 "[x],y\n", "PK,y\n", "BZh9,y\n", "SQLite format,3\n"}) {
    EXPECT_EQ(read_all(*as_text(bytes_of(text, "it"))), text);
  }
}

}  // namespace
}  // namespace ignd
