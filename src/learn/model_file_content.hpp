#pragma once

#include "ignd/model_file.hpp"
#include "learn/table_model.hpp"

namespace ignd {

struct ModelFile::Content {
  TableModel model;
};

}  // namespace ignd
