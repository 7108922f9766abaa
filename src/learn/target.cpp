#include "learn/target.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* other_split = "split in another way, or ask for a smaller --validation and --test";

// A value as it stands in the file; "?" if it is a text whose name the table has not kept.
std::string value_name(const Column& column, double value) {
  if (column.kind == ColumnKind::number) return format_number(value);
  const auto label = column.labels.find(static_cast<std::uint64_t>(value));
  return label != column.labels.end() ? label->second : "?";
}

void check_values(const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  for (const std::uint32_t row : rows) {
    const std::string fault = missing_target(table, column, row);
    if (!fault.empty()) throw BadSample(fmt::format("row {}: {}", row + 1, fault));
  }
}

// The different values, in the order they come, up to three.
class DistinctValues {
 public:
  void add(double value) {
    if (values_.size() < 3 && std::ranges::find(values_, value) == values_.end()) values_.push_back(value);
  }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t i) const { return values_[i]; }

 private:
  std::vector<double> values_;
};

// Names the first text among what should be numbers.
[[noreturn]] void refuse_texts(const Table& table, std::size_t column, std::string_view why) {
  const Column& about = table.columns()[column];
  const auto text_of = [&](std::size_t row) {
    const auto label = about.labels.find(static_cast<std::uint64_t>(table[row][column]));
    double number = 0;
    return label == about.labels.end() || is_number(label->second, number) ? "" : label->second;
  };
  std::size_t first = table.size(), count = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (text_of(row).empty()) continue;
    first = std::min(first, row);
    ++count;
  }
  if (count == 0) throw BadSample(fmt::format("the target {} holds texts{}", in_quotes(about.name), why));
  throw BadSample(
      fmt::format("row {}: the target {} is {}, which is not a number{}; --bad-rows skip leaves out such "
                  "rows ({} of {})",
                  first + 1, in_quotes(about.name), in_quotes(text_of(first)), why, count, table.size()));
}

void set_classes(Target& target, const Column& about, const DistinctValues& values, const std::string& chosen) {
  const std::string names[] = {value_name(about, values[0]), value_name(about, values[1])};
  const auto name = [&](double value) { return value_name(about, value); };
  const bool in_order = is_negative_of(values[0], values[1], target.text ? LabelName(name) : LabelName());
  const std::size_t positive = !chosen.empty() ? find_positive(names, chosen, target.text) : in_order ? 1 : 0;
  target.classes = {names[1 - positive], names[positive]};
  target.positive = values[positive];
}

std::map<double, std::uint32_t> numbers_of(const std::vector<std::string>& classes, bool text) {
  std::map<double, std::uint32_t> numbers;
  for (const std::string& name : classes) {
    const double value = text ? static_cast<double>(text_code(name)) : parse_number(name, "a class of numbers");
    numbers.emplace(value, static_cast<std::uint32_t>(numbers.size()));
  }
  return numbers;
}

// In increasing order.
std::vector<double> all_values(const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  std::vector<double> values;
  for (const std::uint32_t row : rows) values.push_back(table[row][column] + 0.0);  // makes a 0 of -0
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void check_class_count(const Target& target, std::size_t values, std::size_t rows) {
  const bool each_its_own = values == rows;
  if (values <= most_classes && !each_its_own) return;
  throw BadSample(fmt::format(
      "the target {} holds {} different {} in {} rows, {}; {}", in_quotes(target.name), values,
      target.text ? "texts" : "numbers", rows,
      each_its_own ? "each its own" : fmt::format("but at most {} can be classes", most_classes),
      target.text
          ? "choose another column, give several of them one name, or correct what should be numbers (--bad-rows "
            "skip leaves out rows that are not)"
          : "leave out the softmax loss to learn it as a number"));
}

void check_all_in_training(const Target& target, const Table& table, std::size_t column,
                           std::span<const std::uint32_t> rows, std::span<const std::uint32_t> training_rows) {
  const auto number = [&](std::size_t row) { return target.class_numbers.at(table[row][column]); };
  std::vector<bool> known(target.classes.size());
  for (const std::uint32_t row : training_rows) known[number(row)] = true;
  for (const std::uint32_t row : rows) {
    if (known[number(row)]) continue;
    throw BadSample(fmt::format("row {}: the target {} is {}, which no training row has; leave out such rows, {}",
                                row + 1, in_quotes(target.name), in_quotes(target.classes[number(row)]), other_split));
  }
}

void set_several_classes(Target& target, const Table& table, std::size_t column, std::span<const std::uint32_t> rows,
                         std::span<const std::uint32_t> training_rows) {
  const std::vector<double> values = all_values(table, column, rows);
  check_class_count(target, values.size(), rows.size());
  for (const double value : values) target.classes.push_back(value_name(table.columns()[column], value));
  if (target.text) std::ranges::sort(target.classes);
  target.class_numbers = numbers_of(target.classes, target.text);
  check_all_in_training(target, table, column, rows, training_rows);
}

// A few whole numbers may be grades, counts or the numbers of classes: only the user knows.
std::string choice_of_numbers(const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  constexpr std::size_t few = 20;
  std::set<double> values;
  for (const std::uint32_t row : rows) {
    const double value = table[row][column];
    if (value != std::floor(value)) return "";
    values.insert(value);
    if (values.size() > few) return "";
  }
  if (2 * values.size() > rows.size()) return "";
  return fmt::format(
      "regression, because numbers are not taken for classes, though there are only {} whole ones; --loss softmax "
      "learns classes{}",
      values.size(), *values.begin() >= 0 ? ", --loss poisson counts" : "");
}

// Counts of events: whole numbers that begin at 0, reach three times their mean and vary as much as independent events
// do, or some times more. Prices and years are whole numbers too, but none is 0, or their variance is many times the
// mean; grades do not reach that far. Returns the quotient of the variance and the mean; none if they are something
// else, or too few to tell.
std::optional<double> dispersion_of_counts(const Table& table, std::size_t column,
                                           std::span<const std::uint32_t> rows) {
  constexpr std::size_t enough = 100;
  constexpr double most = 20, reach = 3;
  if (rows.size() < enough) return std::nullopt;
  double count = 0, mean = 0, squares = 0, largest = 0;
  bool any_zero = false;
  for (const std::uint32_t row : rows) {
    const double value = table[row][column];
    if (value < 0 || value != std::floor(value)) return std::nullopt;
    any_zero = any_zero || value == 0;
    largest = std::max(largest, value);
    const double gap = value - mean;
    mean += gap / ++count;
    squares += gap * (value - mean);
  }
  const double dispersion = squares / count / mean;
  const bool counts = any_zero && largest > reach * mean && dispersion >= 1 && dispersion <= most;
  return counts ? std::optional(dispersion) : std::nullopt;
}

// Classes that could not have been written are not believed: a number of a class would stand for another one.
void load_several_classes(Target& target, const Checkpoint& checkpoint) {
  const std::uint64_t count = checkpoint.number("target.classes");
  if (count < 3 || count > most_classes) {
    throw FileError(fmt::format("the model has a target of {} classes; there may be 3 to {}", count, most_classes));
  }
  for (std::uint64_t k = 0; k < count; ++k) {
    target.classes.push_back(checkpoint.text(fmt::format("target.class.{}", k)));
  }
  try {
    target.class_numbers = numbers_of(target.classes, target.text);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("the target of the model is damaged: {}", fault.what()));
  }
  std::uint32_t next = 0;
  const bool in_order = target.text ? std::ranges::is_sorted(target.classes)
                                    : std::ranges::all_of(target.class_numbers, [&](const auto& known) {
                                        return std::isfinite(known.first) && known.second == next++;
                                      });
  if (!in_order || target.class_numbers.size() != count) {
    throw FileError("the target of the model is damaged: its classes are not in order, or one is there twice");
  }
}

void fit_scale(Target& target, const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  double mean = 0;
  double squares = 0;
  double count = 0;
  for (const std::uint32_t row : rows) {
    const double y = table[row][column];
    const double from_old = y - mean;
    mean += from_old / ++count;
    squares += from_old * (y - mean);
  }
  target.mean = mean;
  target.deviation = std::sqrt(squares / count);
  if (!std::isfinite(mean) || !std::isnormal(target.deviation)) {
    throw BadSample(
        fmt::format("the target {} has values too large or too close together to be scaled", in_quotes(target.name)));
  }
}

}  // namespace

bool is_negative_of(double label, double other, const LabelName& name) {
  return name ? name(label) < name(other) : label < other;
}

double Target::learned(double value) const {
  if (is_multiclass()) {
    const auto known = class_numbers.find(value);
    // find(NaN) matches any key, since NaN compares as neither less nor greater.
    if (known != class_numbers.end() && known->first == value) return known->second;
    throw BadSample(fmt::format("the target {} is not one of its {} classes", in_quotes(name), classes.size()));
  }
  if (is_class()) return value == positive ? 1 : 0;
  return (value - mean) / deviation;
}

double Target::output_for(double learned_number) const {
  if (!logarithm) return learned_number;
  return std::log(std::max(learned_number, std::numeric_limits<double>::min()));
}

bool are_mostly_numbers(const Labels& labels) {
  double number = 0;
  const auto numbers =
      std::ranges::count_if(labels, [&](const auto& label) { return is_number(label.second, number); });
  return 2 * static_cast<std::size_t>(numbers) > labels.size();
}

std::string missing_target(const Table& table, std::size_t column, std::size_t row) {
  const double value = table[row][column];
  if (std::isfinite(value)) return "";
  const bool number = table.columns()[column].kind == ColumnKind::number;
  return fmt::format("the target {} is {}", in_quotes(table.columns()[column].name),
                     !std::isnan(value) ? "infinite"
                     : number           ? "missing or not a number"
                                        : "missing");
}

Target fit_target(const Table& table, std::size_t column, std::span<const std::uint32_t> rows,
                  std::span<const std::uint32_t> training_rows, const std::string& loss, const std::string& positive) {
  const Column& about = table.columns()[column];
  if (about.format.is_date()) {
    throw InvalidArgument(
        fmt::format("the target {} holds dates; only numbers and classes can be learned", in_quotes(about.name)));
  }
  check_values(table, column, rows);
  DistinctValues values, in_training;
  for (const std::uint32_t row : rows) values.add(table[row][column]);
  for (const std::uint32_t row : training_rows) in_training.add(table[row][column]);
  if (in_training.size() < 2) {
    const std::string name = in_quotes(value_name(about, in_training[0]));
    throw BadSample(
        values.size() < 2
            ? fmt::format("the target {} is {} in every row: there is nothing to learn", in_quotes(about.name), name)
            : fmt::format("the target {} is {} in every training row: there is nothing to learn; {}",
                          in_quotes(about.name), name, other_split));
  }
  const bool given = !loss.empty();
  const Link link = given ? make_vector_loss(loss)->link() : Link::identity;
  const bool wants_two = link == Link::logit, wants_several = link == Link::softmax;
  const bool wants_numbers = given && !wants_two && !wants_several;
  Target target{.name = about.name, .classes = {}, .text = about.kind == ColumnKind::text, .format = about.format};
  if (target.text && wants_numbers) refuse_texts(table, column, fmt::format("; the loss {} needs them", loss));
  if (wants_two && values.size() > 2) {
    throw InvalidArgument(
        fmt::format("the logistic loss needs a target of two values; {} has more: {}, {}, {}; give the softmax loss",
                    in_quotes(about.name), value_name(about, values[0]), value_name(about, values[1]),
                    value_name(about, values[2])));
  }
  if (wants_several && values.size() == 2) {
    throw InvalidArgument(
        fmt::format("the softmax loss needs a target of more than two values; {} has two: give the "
                    "logistic loss",
                    in_quotes(about.name)));
  }
  if (values.size() == 2 && !wants_numbers) {
    set_classes(target, about, values, positive);
    if (!target.text && loss.empty()) {
      target.choice = "classification, because there are two different numbers; --loss squared learns a number";
    }
    return target;
  }
  if (!positive.empty()) {
    throw InvalidArgument(
        fmt::format("a positive class, {}, is one of two; the target {} is not learned as two classes",
                    in_quotes(positive), in_quotes(about.name)));
  }
  if (target.text && !wants_several && are_mostly_numbers(about.labels)) {
    refuse_texts(table, column, ", but most others are; correct it, or give the softmax loss if they are classes");
  }
  if (target.text || wants_several) {
    set_several_classes(target, table, column, rows, training_rows);
    return target;
  }
  if (loss.empty()) target.choice = choice_of_numbers(table, column, rows);
  target.logarithm = link == Link::log;
  if (const auto dispersion = loss.empty() ? dispersion_of_counts(table, column, rows) : std::nullopt) {
    target.logarithm = true;
    target.choice = fmt::format(
        "counts, because all numbers are whole, some are 0, and their variance is {:.3g} times their mean: --loss "
        "squared learns them as numbers",
        *dispersion);
  }
  if (!target.logarithm) fit_scale(target, table, column, training_rows);
  return target;
}

std::string default_loss(const Target& target) {
  if (target.is_multiclass()) return softmax_loss;
  return target.is_class() ? "logistic" : target.logarithm ? "poisson" : "squared";
}

std::string unknown_target(const Table& table, std::size_t column, std::size_t row, const Target& target) {
  const Column& about = table.columns()[column];
  const bool text = about.kind == ColumnKind::text;
  if (!text && !target.text && !target.format.means_the_same(about.format)) {
    throw InvalidArgument(fmt::format("the target {} holds {}, and held {} in training", in_quotes(about.name),
                                      about.format.describe(), target.format.describe()));
  }
  std::string fault = missing_target(table, column, row);
  if (!fault.empty()) return fault;
  const double value = table[row][column];
  const std::string name = value_name(about, value);
  if (!target.is_class()) {
    return !text ? ""
                 : fmt::format("the target {} is the text {}, not a number", in_quotes(about.name), in_quotes(name));
  }
  const bool known = target.is_multiclass() ? target.class_numbers.contains(value)
                                            : std::ranges::find(target.classes, name) != target.classes.end();
  // A text and a number are different values, even if they look the same.
  if (text == target.text && known) return "";
  return fmt::format("the target {} is the {} {}; the model knows the {} {}", in_quotes(about.name),
                     text ? "text" : "number", in_quotes(name), target.text ? "texts" : "numbers",
                     list_classes(target.classes));
}

std::size_t find_positive(std::span<const std::string> classes, const std::string& name, bool text) {
  const auto same = [&](const std::string& known) {
    double a = 0, b = 0;
    return known == name || (!text && is_number(known, a) && is_number(name, b) && a == b);
  };
  const auto found = std::ranges::find_if(classes, same);
  if (found != classes.end()) return static_cast<std::size_t>(found - classes.begin());
  throw InvalidArgument(fmt::format("there is no class {} to be the positive one; the classes are {}", in_quotes(name),
                                    list_classes(classes)));
}

std::string list_classes(std::span<const std::string> classes) {
  constexpr std::size_t most_listed = 5;
  const std::size_t listed = std::min(classes.size(), most_listed);
  std::string text;
  for (std::size_t k = 0; k < listed; ++k) {
    if (k > 0) text += k + 1 == classes.size() ? " and " : ", ";
    text += in_quotes(classes[k]);
  }
  return listed == classes.size() ? text : text + fmt::format(" and {} more", classes.size() - listed);
}

void Target::save(Checkpoint& checkpoint) const {
  const char* kind = logarithm ? "count" : "number";
  if (is_class()) kind = text ? "texts" : "values";
  if (is_multiclass()) {
    kind = text ? "several texts" : "several values";
    checkpoint.set("target.classes", std::uint64_t{classes.size()});
  }
  checkpoint.set("target.name", name);
  checkpoint.set("target.kind", std::string(kind));
  for (std::size_t i = 0; i < classes.size(); ++i) checkpoint.set(fmt::format("target.class.{}", i), classes[i]);
  const double scale[] = {mean, deviation, positive};
  checkpoint.set("target.scale", std::span<const double>(scale));
  if (format.kind != CellFormat::Kind::plain) checkpoint.set("target.format", format.spec());
}

Target Target::load(const Checkpoint& checkpoint) {
  const std::string& kind = checkpoint.text("target.kind");
  const bool two = kind == "texts" || kind == "values";
  const bool several = kind == "several texts" || kind == "several values";
  if (!two && !several && kind != "number" && kind != "count") {
    throw FileError(fmt::format("the model has a target of unknown kind {}", in_quotes(kind)));
  }
  Target target;
  target.name = checkpoint.text("target.name");
  target.text = kind == "texts" || kind == "several texts";
  target.logarithm = kind == "count";
  if (two) target.classes = {checkpoint.text("target.class.0"), checkpoint.text("target.class.1")};
  if (several) load_several_classes(target, checkpoint);
  const auto& scale = checkpoint.array<double>("target.scale", 3);
  target.mean = scale[0];
  target.deviation = scale[1];
  target.positive = scale[2];
  if (!std::isfinite(target.mean) || !std::isfinite(target.deviation)) {
    throw FileError("the model has a target whose scale is not finite");
  }
  if (checkpoint.has("target.format")) target.format = CellFormat::parse(checkpoint.text("target.format"));
  return target;
}

// Names of classes hold anything, and messages are lines of text.
std::string describe(const Target& target) {
  if (target.is_multiclass()) {
    return fmt::format("one of {} classes, {}", target.classes.size(), list_classes(target.classes));
  }
  if (target.is_class()) {
    const auto shown = [](const std::string& name) { return printable(name, name.size()); };
    return fmt::format("class {} or {}; probabilities are of {}", shown(target.classes[0]), shown(target.classes[1]),
                       shown(target.classes[1]));
  }
  if (target.logarithm) return "number, learned as the logarithm of what is expected";
  return fmt::format("{}, mean {:.4g}, deviation {:.4g}", target.format.describe(), target.mean, target.deviation);
}

}  // namespace ignd
