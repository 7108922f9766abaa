#pragma once

#include "data/example_parser.hpp"

namespace ignd {

// Vowpal Wabbit's text: [LABEL [IMPORTANCE [BASE]]] ['TAG] |NAMESPACE[:SCALE] FEATURE[:VALUE] FEATURE ... |NAMESPACE
// ... An example without a label has the target NaN. As there, the last word before the first bar is a tag also without
// the apostrophe if it touches the bar. Tags are not used, and of base predictions only 0 is taken.
//
// A feature that is named by an unsigned decimal number below 2^32, in the namespace without a name, has that number as
// its index. All others have the lower half of the XXH3 hash of their name, seeded with the hash of the namespace's
// name (0 if it has none: then it is hash_feature).
class VwTextParser final : public ExampleParser {
 public:
  std::string parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const override;
};

}  // namespace ignd
