#pragma once

#include "cli/console.hpp"
#include "data/cell_format.hpp"
#include "data/class_files.hpp"
#include "learn/table_dataset.hpp"
#include "learn/trained_model.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What becomes of the columns of a table, and what is left out of the data.
namespace ignd::cli {

// What features a column gives, in a few words.
std::string describe(const ColumnCode& code);

// How a model was made and what it is, for a model card: names and texts.
std::vector<std::pair<std::string, std::string>> card_of(const std::string& target, const ModelDescription& about);

// The columns that give no feature, with the reasons, and those that are neither plain numbers nor texts, with their
// formats.
void set_columns(JsonLine& line, std::span<const ColumnCode> columns);

// The formats of a stream's columns that are not plain numbers or texts: lines for people, or for programs.
void print_formats(const std::map<std::string, CellFormat>& formats);
void set_formats(JsonLine& line, const std::map<std::string, CellFormat>& formats);

// "3 of 400 rows are left out; the first is row 7: the target 'y' is missing"; empty if all rows are used.
std::string left_out_text(const TableDataset& dataset);
std::string left_out_text(const BadRowCount& bad_rows, std::uint64_t rows);

// Prints one line to the standard error if any files were left out.
void warn_of_skipped(std::span<const SkippedFile> files);

}  // namespace ignd::cli
