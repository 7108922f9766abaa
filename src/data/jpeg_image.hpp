#pragma once

#include "data/image.hpp"

namespace ignd {

bool is_jpeg(std::string_view bytes);

// See decode_image(); the message of the FileError is the reason alone.
Image decode_jpeg(std::string_view bytes, std::uint64_t most, const std::atomic<bool>* stop);

}  // namespace ignd
