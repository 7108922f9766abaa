#include "data/encoder.hpp"

#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Form = ColumnCode::Form;

// Mean and deviation, value by value; the sums of squares of large numbers would leave nothing of a small spread.
class Spread {
 public:
  void add(double x) {
    ++count_;
    const double from_old = x - mean_;
    mean_ += from_old / static_cast<double>(count_);
    squares_ += from_old * (x - mean_);
  }
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  double deviation() const { return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)); }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

ColumnCode fit_numbers(const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  ColumnCode code{.name = table.columns()[column].name, .kind = ColumnKind::number};
  Spread spread;
  double low = 0;
  double high = 0;
  for (const std::uint32_t row : rows) {
    const double x = table[row][column];
    if (!std::isfinite(x)) {
      ++code.missing;
      continue;
    }
    low = spread.count() == 0 ? x : std::min(low, x);
    high = spread.count() == 0 ? x : std::max(high, x);
    spread.add(x);
  }
  code.mean = spread.mean();
  const bool constant = low == high || !(spread.deviation() > 0) || !std::isfinite(spread.deviation());
  if (!constant) {
    code.form = Form::scaled;
    code.deviation = spread.deviation();
  } else if (code.missing > 0 && code.missing < rows.size()) {
    code.form = Form::scaled;  // whether it is there is all it says
  }
  return code;
}

ColumnCode fit_texts(const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  const Column& from = table.columns()[column];
  ColumnCode code{.name = from.name, .kind = ColumnKind::text};
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  constexpr std::size_t most_counted = 1'000'000;
  for (const std::uint32_t row : rows) {
    const double x = table[row][column];
    if (std::isnan(x)) {
      ++code.missing;
    } else if (counts.size() < most_counted) {
      ++counts[static_cast<std::uint64_t>(x)];
    }
  }
  code.distinct = counts.size();
  if (counts.size() + (code.missing > 0 ? 1 : 0) < 2) return code;
  const bool named = std::ranges::all_of(counts, [&](const auto& entry) { return from.labels.contains(entry.first); });
  if (counts.size() > Encoder::most_levels || !named) {
    code.form = Form::hashed;
    return code;
  }
  code.form = Form::one_hot;
  for (const auto& [text, count] : counts) code.levels.push_back(from.labels.at(text));
  std::ranges::sort(code.levels);
  return code;
}

const char* form_name(Form form) {
  constexpr const char* names[] = {"dropped", "scaled", "one-hot", "hashed"};
  return names[static_cast<std::size_t>(form)];
}

Form form_of(const std::string& name) {
  for (const Form form : {Form::dropped, Form::scaled, Form::one_hot, Form::hashed}) {
    if (name == form_name(form)) return form;
  }
  throw FileError(fmt::format("the model has a column of unknown form {}", in_quotes(name)));
}

}  // namespace

std::size_t ColumnCode::features() const {
  const std::size_t flag = missing > 0 ? 1 : 0;
  switch (form) {
    case Form::dropped:
      return 0;
    case Form::scaled:
      return 1 + flag;
    case Form::one_hot:
      return levels.size() + flag;
    case Form::hashed:
      return Encoder::hash_features + flag;
  }
  return 0;
}

Encoder::Encoder(std::vector<ColumnCode> columns) : columns_(std::move(columns)), levels_(columns_.size()) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (std::uint32_t i = 0; i < columns_[c].levels.size(); ++i) levels_[c][text_code(columns_[c].levels[i])] = i;
    features_ += columns_[c].features();
  }
}

Encoder Encoder::fit(const Table& table, std::span<const std::size_t> columns, std::span<const std::uint32_t> rows) {
  std::vector<ColumnCode> codes;
  for (const std::size_t column : columns) {
    const bool numbers = table.columns()[column].kind == ColumnKind::number;
    codes.push_back(numbers ? fit_numbers(table, column, rows) : fit_texts(table, column, rows));
  }
  return Encoder(std::move(codes));
}

std::vector<std::size_t> Encoder::match(const Table& table) const {
  std::vector<std::size_t> at;
  std::vector<std::string> faults;
  for (const ColumnCode& code : columns_) {
    const auto found = std::ranges::find(table.columns(), code.name, &Column::name);
    const auto place = static_cast<std::size_t>(found - table.columns().begin());
    at.push_back(place);
    if (code.form == Form::dropped) continue;
    if (found == table.columns().end()) {
      faults.push_back(fmt::format("the column {} is missing", in_quotes(code.name)));
    } else if (code.kind == ColumnKind::number && found->kind == ColumnKind::text) {
      faults.push_back(fmt::format("the column {} holds texts, and held numbers in training", in_quotes(code.name)));
    }
  }
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
  return at;
}

std::size_t Encoder::encode(std::span<const double> row, std::span<const std::size_t> at, std::span<float> out) const {
  std::size_t unknown = 0;
  float* feature = out.data();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ColumnCode& code = columns_[c];
    if (code.form == Form::dropped) continue;
    const double x = row[at[c]];
    const bool present = std::isfinite(x);
    if (code.form == Form::scaled) {
      const double scaled = std::clamp((x - code.mean) / code.deviation, -farthest, farthest);
      *feature++ = present ? static_cast<float>(scaled) : 0.0F;
    } else {
      const std::size_t width = code.form == Form::one_hot ? code.levels.size() : hash_features;
      std::fill_n(feature, width, 0.0F);
      const auto text = static_cast<std::uint64_t>(present ? x : 0);
      if (present && code.form == Form::hashed) {
        feature[text % hash_features] = 1;
      } else if (present) {
        const auto level = levels_[c].find(text);
        if (level != levels_[c].end()) feature[level->second] = 1;
        unknown += level == levels_[c].end() ? 1 : 0;
      }
      feature += width;
    }
    if (code.missing > 0) *feature++ = present ? 0.0F : 1.0F;
  }
  return unknown;
}

void Encoder::save(Checkpoint& checkpoint) const {
  checkpoint.set("columns", std::uint64_t{columns_.size()});
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ColumnCode& code = columns_[c];
    const std::string prefix = fmt::format("column.{}.", c);
    checkpoint.set(prefix + "name", code.name);
    checkpoint.set(prefix + "kind", std::string(code.kind == ColumnKind::number ? "number" : "text"));
    checkpoint.set(prefix + "form", std::string(form_name(code.form)));
    const double numbers[] = {code.mean, code.deviation};
    checkpoint.set(prefix + "scale", std::span<const double>(numbers));
    const std::uint64_t counts[] = {code.missing, code.distinct, code.levels.size()};
    checkpoint.set(prefix + "counts", std::span<const std::uint64_t>(counts));
    for (std::size_t i = 0; i < code.levels.size(); ++i) {
      checkpoint.set(fmt::format("{}level.{}", prefix, i), code.levels[i]);
    }
  }
}

Encoder Encoder::load(const Checkpoint& checkpoint) {
  std::vector<ColumnCode> columns;
  const std::uint64_t count = checkpoint.number("columns");
  for (std::uint64_t c = 0; c < count; ++c) {
    const std::string prefix = fmt::format("column.{}.", c);
    ColumnCode code;
    code.name = checkpoint.text(prefix + "name");
    const std::string& kind = checkpoint.text(prefix + "kind");
    if (kind != "number" && kind != "text") {
      throw FileError(fmt::format("the model has a column of unknown kind {}", in_quotes(kind)));
    }
    code.kind = kind == "number" ? ColumnKind::number : ColumnKind::text;
    code.form = form_of(checkpoint.text(prefix + "form"));
    const auto& scale = checkpoint.array<double>(prefix + "scale", 2);
    code.mean = scale[0];
    code.deviation = scale[1];
    const auto& counts = checkpoint.array<std::uint64_t>(prefix + "counts", 3);
    code.missing = counts[0];
    code.distinct = counts[1];
    for (std::uint64_t i = 0; i < counts[2]; ++i) {
      code.levels.push_back(checkpoint.text(fmt::format("{}level.{}", prefix, i)));
    }
    columns.push_back(std::move(code));
  }
  return Encoder(std::move(columns));
}

}  // namespace ignd
