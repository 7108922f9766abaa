#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// A matrix, row by row.
using MatrixRows = std::vector<std::vector<double>>;

// "[[1,0],[0,1]]", and back. Numbers keep every digit; the reader throws InvalidArgument for a text of another form.
std::string rows_text(const MatrixRows& rows);
MatrixRows parse_rows(std::string_view text, const std::string& name);

// A setting by name. One table of these feeds the command line, experiment files and the documentation.
struct SettingKey {
  enum class Kind { number, count, flag, word, matrix };

  std::string name;
  Kind kind = Kind::number;
  std::string default_value;              // as in an experiment file; a matrix may have none
  double low = 0, high = 0;               // of a number or a count
  std::vector<std::string> choices = {};  // of a word; empty: any text
  std::string help = {};                  // one line
};

// "whole number", "true or false", ...
const char* kind_name(SettingKey::Kind kind);

// As the highest count: there is no limit but that of 64 bits.
inline constexpr double any_count = 18446744073709551616.0;

// A value in its canonical form, so that equal values have equal texts. Throws InvalidArgument for a value that is not
// of its kind, out of range or not one of the choices. Messages name the setting as `what`: "--epochs".
std::string canonical_value(const SettingKey& key, const std::string& value, const std::string& what);

// A value for every setting, checked against its key, as text: "0.99", "true", "8x8", "[[1,0],[0,1]]".
class Settings {
 public:
  Settings() = default;
  explicit Settings(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  double number(const std::string& name) const;
  std::uint64_t count(const std::string& name) const;
  bool flag(const std::string& name) const;
  const std::string& word(const std::string& name) const;
  MatrixRows matrix(const std::string& name) const;  // empty where none was given

  const std::map<std::string, std::string>& values() const { return values_; }
  std::string text() const;  // a line "name=value" for each, the same for equal settings
  bool operator==(const Settings&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace ignd
