#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ignd {

// Turns a network in TOML (docs/networks.md) into the text that named_network takes: "network:threads 2; dense 32;
// dense 1". Throws InvalidArgument with all faults and their lines; whether the layers fit together is checked when the
// network is made.
std::string parse_network_file(std::string_view toml);

// The same from a file. Throws FileError too.
std::string read_network_file(const std::filesystem::path& path);

}  // namespace ignd
