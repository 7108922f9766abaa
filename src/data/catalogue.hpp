#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// A public data set that the experiments use. It is known by name and by what is in it: nothing of it is part of the
// project.
struct DataSet {
  std::string name, title;
  std::vector<std::string> files;  // names that it may have; a download gets the first
  std::string url;                 // empty: it has no public address
  std::string licence, citation;
  std::uint64_t size = 0;  // of the public file, in bytes

  std::vector<std::string> members;  // patterns (archive.hpp) of what is used of it
  std::uint64_t count = 0;           // of the members used
  std::string checksum;              // member_checksum of a copy of ours; empty: we have none
  std::string published;             // SHA-256 of the public file, as others give it; empty: unknown

  bool verified = false;     // whether our checksum was compared with the public file
  std::string verification;  // how, or why not
};

// All of them, by name.
const std::vector<DataSet>& data_sets();

// Throws InvalidArgument, with the nearest known name.
const DataSet& find_data_set(std::string_view name);

// Where downloads go: $XDG_CACHE_HOME/ignd, or ~/.cache/ignd. Throws FileError where neither is known.
std::filesystem::path cache_folder();

// Throws FileError unless the file holds the data set: its members have the known checksum, however they were packed,
// or it is the public file itself. `name` is the file's own, which it may not have yet.
void check_data(const DataSet& set, const std::filesystem::path& path, const std::string& name);

// The file of a data set in $IGND_DATA or in the cache folder, or why there is none.
struct DataPlace {
  std::filesystem::path path;  // empty: not here
  std::string fault;           // of the files that were looked at and are something else; may be empty
};

// What was found is checked. A large file that was checked before and has not changed since is not read again: the
// cache folder remembers it.
DataPlace look_for_data(const DataSet& set);

// The path, or "not here" and what is wrong with the files that were looked at.
std::string describe(const DataPlace& place);

// What to say where a data set is not here: also why, and what to do.
std::string absence_of(const DataSet& set, const DataPlace& place);

// The path; throws FileError with what to do where it is not here.
std::filesystem::path find_data(std::string_view name);

// What to do by hand: the address, and where to put the file.
std::string by_hand(const DataSet& set);

}  // namespace ignd
