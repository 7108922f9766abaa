#pragma once

#include "cli/json_line.hpp"
#include "learn/dataset.hpp"

#include <span>
#include <string>

// Which classes are taken for which.
namespace ignd::cli {

// A table, or, of more than 20 classes, the ten most frequent confusions. Ends with a line end.
std::string confusion_text(const MulticlassMetrics& metrics, std::span<const std::string> classes);

// As "classes" and "confusion": an array for each true class, in it a number for each predicted one.
void set_confusion(JsonLine& line, const MulticlassMetrics& metrics, std::span<const std::string> classes);

// The same of whatever was measured, two classes or more; nothing for numbers. The text begins with an empty line.
std::string confusion_text(const Scores& quality, std::span<const std::string> classes);
void set_confusion(JsonLine& line, const Scores& quality, std::span<const std::string> classes);

}  // namespace ignd::cli
