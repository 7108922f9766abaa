#pragma once

#include "cli/console.hpp"
#include "cli/use_model.hpp"
#include "data/cell_format.hpp"
#include "ignd/checkpoint.hpp"

#include <map>
#include <string>

// The commands that use a trained model, for one that was learned from a stream.
namespace ignd::cli {

// The formats of columns that are not plain numbers or texts: lines for people, or for programs.
void print_formats(const std::map<std::string, CellFormat>& formats);
void set_formats(JsonLine& line, const std::map<std::string, CellFormat>& formats);

int predict_stream(const UseOptions& options, const Checkpoint& checkpoint);
int evaluate_stream(const UseOptions& options, const Checkpoint& checkpoint);
int inspect_stream(const UseOptions& options, const Checkpoint& checkpoint);

}  // namespace ignd::cli
