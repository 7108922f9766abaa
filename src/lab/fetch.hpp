#pragma once

#include "data/catalogue.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace ignd {

// Brings a data set to the cache folder unless it is here already, and returns its path. `from` is an address to use
// instead of the public one; may be empty. Throws FileError with what to do by hand.
std::filesystem::path fetch_data(const DataSet& set, const std::string& from,
                                 const std::function<void(std::uint64_t done)>& on_progress);

}  // namespace ignd
