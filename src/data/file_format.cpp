#include "data/file_format.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view spaces = " \t\r\n";

std::string in_python(std::string_view reader) {
  return fmt::format("convert it to comma-separated values, in Python with pandas.{}.to_csv('data.csv', index=False)",
                     reader);
}

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view reader;  // of pandas; empty: `advice`
  std::string_view advice = "";
};

constexpr Magic magics[]{
    // With the bytes that follow: a column may be called PAR1.
    {"PAR1\x15"sv, "a Parquet file", "read_parquet('FILE')"},
    {"ARROW1\0\0"sv, "an Arrow (Feather) file", "read_feather('FILE')"},
    {"SQLite format 3\0"sv, "an SQLite database", "",
     "export a table with: sqlite3 -header -csv FILE 'select * from TABLE' > data.csv"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an Excel workbook", "", "save the sheet as CSV (UTF-8)"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "read_hdf('FILE')"},
    {"\x93NUMPY"sv, "a NumPy array", "", "write it as text with numpy.savetxt('data.csv', array, delimiter=',')"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "", "unpack it first: unzstd FILE"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz", "", "unpack it first: unxz FILE"},
    {"BZh91AY&SY"sv, "compressed by bzip2", "", "unpack it first: bunzip2 FILE"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "", "unpack it first: 7z x FILE"},
    {"%PDF-"sv, "a PDF file", "", "ignd reads tables as comma-separated values"},
};

constexpr std::string_view zip_magic = "PK\3\4";

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text;
}

// By the name of its first member, which the bytes begin with.
std::string describe_zip(std::string_view bytes) {
  constexpr std::size_t name_at = 30;
  const std::string_view name = bytes.substr(std::min(name_at, bytes.size()));
  const auto begins = [&](std::string_view front) { return name.starts_with(front); };
  if (begins("[Content_Types].xml") || begins("_rels/") || begins("xl/") || begins("docProps/")) {
    return "an Excel workbook; save the sheet as CSV (UTF-8), or " + in_python("read_excel('FILE')");
  }
  if (begins("mimetypeapplication/vnd.oasis")) return "an OpenDocument file; save the sheet as CSV (UTF-8)";
  return "a zip archive; unpack it first: unzip FILE";
}

// "{" and a key, or a list of such things. A line of comma-separated values would have to end like one, too.
std::string describe_json(std::string_view text) {
  text = without_spaces(text);
  if (!text.starts_with('{') && !text.starts_with('[')) return "";
  std::string_view line = text.substr(0, text.find('\n'));
  line = line.substr(0, line.find_last_not_of(spaces) + 1);
  const std::string_view inside = without_spaces(text.substr(1));
  if (text.starts_with('[')) {
    const bool holds_more = inside.starts_with('{') || inside.starts_with('[');
    return holds_more || line == "[" ? "a JSON file; " + in_python("read_json('FILE')") : "";
  }
  if (line == "{") return "a JSON file; " + in_python("read_json('FILE')");
  if (!inside.starts_with('"') || std::string_view("},{[").find(line.back()) == std::string_view::npos) return "";
  const bool whole = line.ends_with('}');
  return whole ? "a JSON-lines file; " + in_python("read_json('FILE', lines=True)")
               : "a JSON file; " + in_python("read_json('FILE')");
}

bool is_web_page(std::string_view text) {
  constexpr std::string_view fronts[]{"<!doctype html", "<html"};
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  text = without_spaces(text);
  return std::ranges::any_of(fronts, [&](std::string_view front) {
    return text.size() >= front.size() &&
           std::equal(front.begin(), front.end(), text.begin(), [&](char b, char a) { return same(a, b); });
  });
}

}  // namespace

std::string describe_other_format(std::string_view beginning) {
  for (const Magic& magic : magics) {
    if (!beginning.starts_with(magic.bytes)) continue;
    return fmt::format("{}; {}", magic.what,
                       magic.reader.empty() ? std::string(magic.advice) : in_python(magic.reader));
  }
  if (beginning.starts_with(zip_magic)) return describe_zip(beginning);
  if (is_web_page(beginning)) return "a web page; did the download fail?";
  return describe_json(beginning);
}

bool begins_like_other_format(std::string_view beginning) {
  const auto agrees = [&](std::string_view bytes) {
    const std::size_t both = std::min(bytes.size(), beginning.size());
    return bytes.substr(0, both) == beginning.substr(0, both);
  };
  return agrees(zip_magic) || std::ranges::any_of(magics, agrees, &Magic::bytes);
}

}  // namespace ignd
