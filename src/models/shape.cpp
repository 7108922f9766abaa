#include "models/shape.hpp"

#include <fmt/format.h>

namespace ignd {

std::string Shape::text() const {
  switch (kind) {
    case Kind::values:
      return fmt::format("values {}", size[0]);
    case Kind::image:
      return fmt::format("image {} {} {}", size[0], size[1], size[2]);
    case Kind::sequence:
      return fmt::format("sequence {} {}", size[0], size[1]);
    case Kind::tokens:
      return fmt::format("tokens {} {}", size[0], size[1]);
  }
  return "nothing";
}

}  // namespace ignd
