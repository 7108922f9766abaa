#include "learn/text_model.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace ignd {

TextModel TextModel::load(const Checkpoint& checkpoint) {
  TextModel loaded{TrainedModel::load(checkpoint), TextDataset::Reader::load(checkpoint)};
  if (!loaded.target.is_class()) throw FileError("its model has no classes");
  const auto& reader = loaded.reader;
  if (reader.vocabulary == 0 || reader.vocabulary > std::numeric_limits<std::uint32_t>::max() || reader.length == 0 ||
      reader.length > longest_text) {
    throw FileError(
        fmt::format("its texts have {} tokens out of {}: that cannot be", reader.length, reader.vocabulary));
  }
  try {
    const std::vector<std::uint32_t> longest(reader.length, static_cast<std::uint32_t>(reader.vocabulary - 1));
    loaded.model->check({.values = {}, .index = longest});
    return loaded;
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("its model and its texts do not fit together: {}", fault.what()));
  }
}

}  // namespace ignd
