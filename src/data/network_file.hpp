#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ignd {

// A network in TOML (docs/networks.md) as the text that named_network takes: "network:threads 2; dense 32; dense 1".
// Throws InvalidArgument with all faults and their lines; whether the layers fit together is seen when they are made.
std::string parse_network_file(std::string_view toml);

// The same from a file. Throws FileError too.
std::string read_network_file(const std::filesystem::path& path);

}  // namespace ignd
