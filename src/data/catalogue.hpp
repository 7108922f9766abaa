#pragma once

#include "data/table.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// A public data set that the experiments use, known by name and checksums. The project ships none of the data.
struct DataSet {
  std::string name, title;
  std::vector<std::string> files;  // possible file names; a download gets the first
  std::string url;                 // empty: it has no public address; see address_of
  std::string licence, citation;
  std::uint64_t size = 0;  // of the public file, in bytes

  std::vector<std::string> members;  // patterns (archive.hpp) of the members we use
  std::uint64_t count = 0;           // number of those members
  std::string checksum;              // member_checksum of our copy; empty: we have none
  std::string published;             // SHA-256 of the public file as published; empty: unknown

  bool verified = false;     // whether our checksum was compared with the public file
  std::string verification;  // how, or why not
};

// All of them, by name.
const std::vector<DataSet>& data_sets();

// Throws InvalidArgument, with the nearest known name.
const DataSet& find_data_set(std::string_view name);

// Where to download it: from $IGND_MIRROR, the address of a folder with copies, or else from its public address.
std::string address_of(const DataSet& set);

// Where downloads go: $XDG_CACHE_HOME/ignd, or ~/.cache/ignd. Throws FileError where neither is known.
std::filesystem::path cache_folder();

// Throws FileError unless the file holds the data set: its members have the known checksum, however they are packed, or
// it is the public file itself. `name` is the final file name, which a download does not have yet.
void check_data(const DataSet& set, const std::filesystem::path& path, const std::string& name);

// Where a data set was found, in $IGND_DATA or in the cache folder, or why it was not.
struct DataPlace {
  std::filesystem::path path;  // empty: not found
  std::string fault;           // what is wrong with the files that were examined; may be empty
};

// Verifies what it finds. Large files are verified once: the cache folder remembers them until they change.
DataPlace look_for_data(const DataSet& set);

// The path, or "not here" and what is wrong with the files that were examined.
std::string describe(const DataPlace& place);

// The message for a data set that is not here: why, and what to do.
std::string absence_of(const DataSet& set, const DataPlace& place);

// The path; throws FileError with a remedy if the data set is not here.
std::filesystem::path find_data(std::string_view name);

// How to get it by hand: the address, and where to put the file.
std::string by_hand(const DataSet& set);

// California Housing from cal_housing.tgz, with the eight features that scikit-learn derives from its columns (rooms,
// bedrooms and people by household), and MedHouseVal, the median value of a house in 100,000 USD. Throws FileError.
Table read_california_housing(const std::filesystem::path& path);

}  // namespace ignd
