#include "base/text.hpp"
#include "ignd/error.hpp"
#include "lab/task.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

// "[[1,0],[0,1]]" to rows; the text was made by the reader of experiment files and is well-formed.
std::vector<std::vector<double>> parse_rows(std::string_view text, const std::string& name) {
  std::vector<std::vector<double>> rows;
  std::size_t at = 1;
  while ((at = text.find('[', at)) != std::string_view::npos) {
    const std::size_t end = text.find(']', at);
    if (end == std::string_view::npos) throw InvalidArgument(fmt::format("the matrix '{}' ends too early", name));
    rows.emplace_back();
    for (std::size_t start = at + 1; start < end;) {
      const std::size_t comma = std::min(text.find(',', start), end);
      rows.back().push_back(parse_number(text.substr(start, comma - start), name));
      start = comma + 1;
    }
    at = end;
  }
  return rows;
}

}  // namespace

const std::string& Settings::word(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw InvalidArgument(fmt::format("there is no setting '{}'", name));
  return found->second;
}

double Settings::number(const std::string& name) const { return parse_number(word(name), name); }

std::uint64_t Settings::count(const std::string& name) const { return parse_count(word(name), name); }

bool Settings::flag(const std::string& name) const { return word(name) == "true"; }

std::vector<std::vector<double>> Settings::matrix(const std::string& name) const {
  return parse_rows(word(name), name);
}

}  // namespace ignd
