#include "data/catalogue.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

std::vector<DataSet> make_data_sets() {
  return {
      {.name = "california-housing",
       .title = "California Housing: 20,640 districts of the census of 1990",
       .files = {"cal_housing.tgz"},
       .url = "https://ndownloader.figshare.com/files/5976036",
       .licence = "CC BY 4.0",
       .citation = "R. K. Pace and R. Barry, Sparse Spatial Autoregressions, Statistics and Probability Letters 33 "
                   "(1997) 291-297",
       .size = 441'963,
       .members = {"CaliforniaHousing/cal_housing.data"},
       .count = 1,
       .checksum = "eeaf70676b9499b2c86dcd795a8ac2ee42136529384716e416be93d9512518a6",
       .published = "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
       .verified = false,
       .verification = "the numbers are the public ones, but the bytes of the public archive were not compared"},
      {.name = "cats-vs-dogs",
       .title = "Cats vs. Dogs: 25,000 photographs",
       .files = {"kagglecatsanddogs_5340.zip"},
       .url = "https://download.microsoft.com/download/3/E/1/3E1C3F21-ECDB-4869-8368-6DEBA77B919F/"
              "kagglecatsanddogs_5340.zip",
       .licence = "not stated",
       .citation = "J. Elson, J. R. Douceur, J. Howell and J. Saul, Asirra: A CAPTCHA that Exploits Interest-Aligned "
                   "Manual Image Categorization, CCS 2007",
       .size = 824'887'076,
       .members = {"PetImages/Cat/*.jpg", "PetImages/Dog/*.jpg"},
       .count = 25'000,
       .checksum = "",
       .published = "b7974bd00a84a99921f36ee4403f089853777b5ae8d151c76a86e64900334af9",
       .verified = false,
       .verification = "only the public archive itself is accepted, by a checksum that others have published"},
      {.name = "cats-vs-dogs-3000",
       .title = "Cats vs. Dogs: 3,000 of the photographs, 224 x 224",
       .files = {"cats-vs-dogs-3000.zip", "kagglecatsanddogs_5340.zip"},
       .url = "",
       .licence = "not stated",
       .citation = "as cats-vs-dogs",
       .size = 25'600'505,
       .members = {"PetImages/Cat/*.jpg", "PetImages/Dog/*.jpg"},
       .count = 3'000,
       .checksum = "154776328c4d50dc5da882f17560e3d299870737b6fbf3f1c105f99336e1745f",
       .published = "",
       .verified = false,
       .verification = "a selection of our own: there is no public archive to compare it with"},
      {.name = "cl100k-base",
       .title = "cl100k_base: the ranks of a tokenizer's byte pairs",
       .files = {"cl100k_base.tiktoken"},
       .url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
       .licence = "MIT",
       .citation = "OpenAI, tiktoken",
       .size = 1'681'126,
       .members = {"cl100k_base.tiktoken"},
       .count = 1,
       .checksum = "5200fedbc58f1a79e176b21694abf5867fbf1344fef3416bb2b5868bb04e5828",
       .published = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
       .verified = true,
       .verification = "has the checksum that tiktoken publishes"},
      {.name = "diamonds",
       .title = "Diamonds: 53,940 prices",
       .files = {"diamonds.csv"},
       .url = "https://raw.githubusercontent.com/mwaskom/seaborn-data/master/diamonds.csv",
       .licence = "MIT",
       .citation = "H. Wickham, ggplot2: Elegant Graphics for Data Analysis, Springer, 2016",
       .size = 2'772'143,
       .members = {"diamonds.csv"},
       .count = 1,
       .checksum = "b343535939efe25cbd3a3fe3c0f74070d0631f01598f9e1132efa4557b94c772",
       .published = "9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4",
       .verified = true,
       .verification = "the public file, and the same without its quotes"},
      {.name = "imdb",
       .title = "IMDB: 50,000 film reviews, liked or not",
       .files = {"aclImdb_v1.tar.gz"},
       .url = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
       .licence = "not stated",
       .citation = "A. L. Maas, R. E. Daly, P. T. Pham, D. Huang, A. Y. Ng and C. Potts, Learning Word Vectors for "
                   "Sentiment Analysis, ACL 2011",
       .size = 84'125'825,
       .members = {"aclImdb/train/neg/*.txt", "aclImdb/train/pos/*.txt", "aclImdb/test/neg/*.txt",
                   "aclImdb/test/pos/*.txt"},
       .count = 50'000,
       .checksum = "d9bad296826c8756d547c8a0137ccb437b08494fd9efbabea1e6eef70f5a568d",
       .published = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
       .verified = false,
       .verification = "our copy was not compared with the public archive, whose published checksum is accepted too"},
  };
}

// The value of an environment variable, unless it is empty.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return value;
}

std::optional<fs::path> known_cache_folder() {
  // The XDG specification says to ignore relative paths.
  if (const auto cache = variable("XDG_CACHE_HOME"); cache && fs::path(*cache).is_absolute()) {
    return fs::path(*cache) / "ignd";
  }
  if (const auto home = variable("HOME")) return fs::path(*home) / ".cache" / "ignd";
  return {};
}

// Smaller files are verified on every use, which takes milliseconds.
constexpr std::uintmax_t small_file = std::uintmax_t{8} << 20;

// Identifies the version of a large file that was verified. Writing to the file or replacing it changes the time.
std::optional<std::string> stamp_of(const DataSet& set, const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {} {}.{:09} {}\n", set.checksum, set.published, status.st_size, status.st_ino,
                     status.st_ctim.tv_sec, status.st_ctim.tv_nsec, fs::absolute(path).string());
}

class Stamp {
 public:
  Stamp(const DataSet& set, const fs::path& path) : set_(set), path_(path), now_(stamp_of(set, path)) {
    const auto cache = known_cache_folder();
    std::error_code fault;
    const std::uintmax_t size = fs::file_size(path, fault);
    if (cache && !fault && size > small_file) file_ = *cache / (set.name + ".checked");
  }

  bool is_known() const {
    std::error_code fault;
    if (file_.empty() || !now_ || !fs::is_regular_file(file_, fault)) return false;
    try {
      return read_file(file_) == *now_;
    } catch (const FileError&) {
      return false;
    }
  }

  // Call after verification; does nothing if the file has changed meanwhile.
  void remember() const {
    if (file_.empty() || stamp_of(set_, path_) != now_) return;
    std::error_code fault;
    fs::create_directories(file_.parent_path(), fault);
    try {
      write_file_atomically(file_, *now_);
    } catch (const FileError&) {
      // Costs only time: the file is verified again on the next use.
    }
  }

 private:
  const DataSet& set_;
  const fs::path& path_;
  std::optional<std::string> now_;
  fs::path file_;
};

void check_data_once(const DataSet& set, const fs::path& path) {
  const Stamp stamp(set, path);
  if (stamp.is_known()) return;
  check_data(set, path, path.filename().string());
  stamp.remember();
}

std::vector<fs::path> data_folders() {
  std::vector<fs::path> folders;
  if (const auto given = variable("IGND_DATA")) folders.emplace_back(*given);
  if (const auto cache = known_cache_folder()) folders.push_back(*cache);
  return folders;
}

}  // namespace

const std::vector<DataSet>& data_sets() {
  static const std::vector<DataSet> sets = make_data_sets();
  return sets;
}

const DataSet& find_data_set(std::string_view name) {
  std::vector<std::string> names;
  for (const DataSet& set : data_sets()) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  const std::string near = suggestion(name, names);
  throw InvalidArgument(fmt::format("there is no data set {}{}", in_quotes(name),
                                    near.empty() ? "; there are " + join(names, ", ") : near));
}

std::string address_of(const DataSet& set) {
  const auto mirror = variable("IGND_MIRROR");
  if (!mirror) return set.url;
  return *mirror + (mirror->ends_with('/') ? "" : "/") + set.files.front();
}

fs::path cache_folder() {
  if (const auto folder = known_cache_folder()) return *folder;
  throw FileError("there is no folder for data sets: set HOME or XDG_CACHE_HOME");
}

void check_data(const DataSet& set, const fs::path& path, const std::string& name) {
  std::string fault;
  if (!set.checksum.empty()) {
    try {
      const MemberChecksum sum = member_checksum(path, name, set.members, set.count);
      if (sum.checksum == set.checksum) return;
      fault = sum.count == set.count
                  ? fmt::format("has other contents (checksum {}, not {})", sum.checksum, set.checksum)
                  : fmt::format("holds {} of the {} files of this data set", sum.count, set.count);
      fault = fmt::format("{} {}", quoted_path(path), fault);
    } catch (const FileError& error) {
      fault = error.what();
    }
  }
  if (!set.published.empty() || fault.empty()) {
    const std::string sum = sha256_of_file(path);
    if (sum == set.published) return;
    if (fault.empty()) {
      fault = fmt::format("{} is another file (checksum {}, not {})", quoted_path(path), sum, set.published);
    }
  }
  throw FileError(fault);
}

DataPlace look_for_data(const DataSet& set) {
  std::vector<std::string> faults;
  for (const fs::path& folder : data_folders()) {
    for (const std::string& name : set.files) {
      const fs::path path = folder / name;
      std::error_code fault;
      if (!fs::exists(path, fault)) continue;
      try {
        check_data_once(set, path);
        return {path, ""};
      } catch (const FileError& error) {
        faults.emplace_back(error.what());
      }
    }
  }
  return {{}, list_faults(faults)};
}

std::string describe(const DataPlace& place) {
  if (!place.path.empty()) return place.path.string();
  return place.fault.empty() ? "not here" : "not here: " + place.fault;
}

std::string absence_of(const DataSet& set, const DataPlace& place) {
  const std::string command = address_of(set).empty() ? "" : fmt::format("run: ignd data fetch {}; or ", set.name);
  return fmt::format("the data set {} is {}; {}{}", set.name, describe(place), command, by_hand(set));
}

fs::path find_data(std::string_view name) {
  const DataSet& set = find_data_set(name);
  const DataPlace place = look_for_data(set);
  if (place.path.empty()) throw FileError(absence_of(set, place));
  return place.path;
}

std::string by_hand(const DataSet& set) {
  const auto cache = known_cache_folder();
  const std::string folder = cache ? quoted_path(*cache) : "a folder that IGND_DATA names";
  const std::string also = cache && !variable("IGND_DATA") ? ", or into a folder that IGND_DATA names" : "";
  const std::string address = address_of(set);
  const std::string from = address.empty() ? "a copy (it has no public address)" : address;
  return fmt::format("by hand: put {} as {} into {}{}", from, set.files.front(), folder, also);
}

namespace {

// The columns of the file, which has no header.
enum Raw { longitude, latitude, age, rooms, bedrooms, people, households, income, value, raw_columns };

std::string data_of(const std::filesystem::path& path) {
  constexpr std::string_view member = "CaliforniaHousing/cal_housing.data";
  std::string text;
  bool found = false;
  visit_members(
      path, path.filename().string(), [&](std::string_view name) { return name == member; },
      [&](const std::string&, std::string_view content) {
        text = content;
        found = true;
      });
  if (!found) throw FileError(fmt::format("{} holds no {}", quoted_path(path), member));
  return text;
}

}  // namespace

Table read_california_housing(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& reason) {
    throw FileError(fmt::format("{} is not California Housing: {}", quoted_path(path), reason));
  };
  TableOptions options;
  options.dialect = {.delimiter = ',', .header = false};
  const Table table = Table::parse_csv(data_of(path), options);
  if (table.columns().size() != raw_columns) {
    fail(fmt::format("it has {} columns, not {}", table.columns().size(), static_cast<int>(raw_columns)));
  }
  for (const Column& column : table.columns()) {
    if (column.kind != ColumnKind::number) fail("a value is not a number");
  }
  std::vector<double> rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    constexpr double unit = 1e5;
    const auto row = table[i];
    const double homes = row[households];
    const std::array derived{row[income],         row[age],      row[rooms] / homes, row[bedrooms] / homes, row[people],
                             row[people] / homes, row[latitude], row[longitude],     row[value] / unit};
    if (!std::ranges::all_of(derived, [](double number) { return std::isfinite(number); })) {
      fail(fmt::format("row {} has a value that is missing or not finite, or no household", i + 1));
    }
    rows.insert(rows.end(), derived.begin(), derived.end());
  }
  return Table::of_numbers(
      {"MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude", "MedHouseVal"},
      rows);
}

}  // namespace ignd
