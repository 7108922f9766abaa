#pragma once

#include "data/image_set.hpp"

#include <string>

namespace ignd::cli {

// The images of a folder or an archive, with a bar that shows how far it is, unless that is to be quiet. Throws
// Stopped where Ctrl-C was pressed meanwhile.
ImageSet read_images(const std::string& source, ImageSize size, bool quiet);

}  // namespace ignd::cli
