#include "base/atomic_file.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/result_tables.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Words = std::vector<std::string>;

std::string plural(std::uint64_t count, const char* word) {
  return fmt::format("{} {}{}", with_commas(count), word, count == 1 ? "" : "s");
}

void refuse_foreign_options(const UseOptions& options, ModelKind kind) {
  if (kind == ModelKind::stream) {
    options.given.refuse({"repeats", "curves", "points", "seed", "csv", "weight"},
                         "cannot be given for a model of a stream: its weights are listed, and nothing is shuffled");
  } else if (kind == ModelKind::table) {
    options.given.refuse({"heaviest"}, "can only be given for a model of a stream");
  }
}

// What the numbers of a partial dependence are, as `predict` calls its columns.
Words outputs_of(const std::vector<std::string>& classes) {
  if (classes.empty()) return {"prediction"};
  if (classes.size() == 2) return {"probability"};
  Words names;
  for (const std::string& name : classes) names.push_back("probability_" + name);
  return names;
}

std::string dependence_csv(const Explanation& made, const Words& outputs) {
  std::string text = "column,value";
  for (const std::string& name : outputs) text += "," + csv_bytes(name);
  text += "\n";
  for (const PartialDependence& curve : made.dependence) {
    for (const auto& [shown, value, means] : curve.points) {
      const bool number = value && !curve.is_date;
      text += csv_bytes(curve.column) + "," + (number ? format_number(*value) : csv_bytes(shown));
      for (const double mean : means) text += "," + format_number(mean);
      text += "\n";
    }
  }
  return text;
}

void print_importance(const Explanation& made, std::uint64_t repeats) {
  print("importance: how much the {} rises if a column is shuffled, mean and deviation over {}\n", made.measure,
        plural(repeats, "shuffle"));
  std::vector<Words> lines;
  for (const ColumnImportance& one : made.importance) {
    lines.push_back({printable(one.column), in_short(one.increase), one.deviation ? "±" : "",
                     one.deviation ? in_short(one.deviation) : ""});
  }
  print("{}", aligned(lines));
}

void print_dependence(const Explanation& made, const Words& outputs) {
  constexpr std::size_t most_columns = 8;
  const std::size_t shown = std::min(outputs.size(), most_columns);
  const int digits = outputs == Words{"prediction"} ? 6 : 4;
  if (made.dependence.empty()) return;
  print("\npartial dependence: the mean prediction over {} if all had this value\n", plural(made.averaged, "row"));
  for (const PartialDependence& curve : made.dependence) {
    std::vector<Words> lines{{printable(curve.column)}};
    lines[0].insert(lines[0].end(), outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(shown));
    for (const auto& point : curve.points) {
      lines.push_back({"  " + printable(point.text)});
      for (std::size_t k = 0; k < shown; ++k) lines.back().push_back(in_short(point.means[k], digits));
    }
    print("{}", aligned(lines));
    if (!curve.note.empty()) print("    {}\n", curve.note);
  }
  if (shown < outputs.size()) {
    print("  and {} more classes, which --json and --csv have\n", outputs.size() - shown);
  }
}

void print_linear(const LinearForm& form, const Words& classes) {
  print("\ncoefficients: what a column adds to the {}, in its own units\n", form.unit);
  constexpr std::size_t most_columns = 8;
  const std::size_t shown = std::min(form.intercept.size(), most_columns);
  std::vector<Words> lines;
  const auto add = [&](const std::string& name, const std::string& part, const std::vector<double>& values) {
    lines.push_back({fmt::format("{} {}", printable(name), printable(part))});
    for (std::size_t k = 0; k < shown; ++k) lines.back().push_back(in_short(values[k]));
  };
  if (shown > 1) {
    lines.push_back({""});
    lines[0].insert(lines[0].end(), classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(shown));
  }
  add("intercept", "", form.intercept);
  for (const Coefficient& one : form.coefficients) add(one.column, one.part, one.values);
  print("{}", aligned(lines));
  if (shown < form.intercept.size()) print("  and {} more classes, which --json has\n", form.intercept.size() - shown);
}

void print_features(const HeavyFeatures& heavy) {
  print("the heaviest of {} features: weight times usual size is what one moves the {} by\n",
        with_commas(heavy.features), heavy.unit);
  std::vector<Words> lines{{"feature", "weight", "usual size", "rows", "shares with"}};
  for (const HeavyFeature& one : heavy.heaviest) {
    lines.push_back({printable(one.name), in_short(one.weight), in_short(one.size), with_commas(one.rows),
                     one.sharing > 0 ? with_commas(one.sharing) : ""});
  }
  print("{}", aligned(lines));
  if (heavy.colliding > 0) {
    print(
        "{} of the features share a weight with another one, since they hash to the same place; more --bits keep "
        "them apart\n",
        with_commas(heavy.colliding));
  }
  if (!heavy.has_names) {
    print("features are called by their index: the data have no columns, and the model keeps no names\n");
  }
}

void print_explanation(const UseOptions& options, const Explanation& made, const Words& classes) {
  print("{}: {}{}", for_terminal(options.spec.data.path), made.rows < made.all_rows ? "some " : "",
        plural(made.rows, "row"));
  if (made.rows < made.all_rows) print(" of {}, as --rows says", with_commas(made.all_rows));
  if (made.features) {
    print("\n\n");
    print_features(*made.features);
    return;
  }
  print("; {} {}\n\n", made.measure, in_short(made.score));
  print_importance(made, options.explain.repeats);
  if (made.rows == 1) print("  with a single row, there is nothing to shuffle\n");
  print_dependence(made, outputs_of(classes));
  if (made.linear) print_linear(*made.linear, classes);
}

JsonLine importance_json(const ColumnImportance& one) {
  JsonLine part;
  part.set("column", one.column).set("increase", one.increase).set("deviation", one.deviation);
  return part;
}

JsonLine dependence_json(const PartialDependence& curve) {
  std::vector<JsonLine> points;
  for (const auto& [text, value, means] : curve.points) {
    points.emplace_back().set("text", text).set("value", value).set("means", std::span<const double>(means));
  }
  JsonLine part;
  part.set("column", curve.column).set("points", std::span<const JsonLine>(points));
  if (!curve.note.empty()) part.set("note", curve.note);
  return part;
}

JsonLine feature_json(const HeavyFeature& one) {
  JsonLine part;
  part.set("feature", one.name).set("weight", one.weight).set("size", one.size);
  part.set("rows", one.rows).set("sharing", one.sharing);
  return part;
}

template <class Parts, class Made>
std::vector<JsonLine> parts_of(const Parts& parts, Made made) {
  std::vector<JsonLine> lines;
  lines.reserve(parts.size());
  for (const auto& part : parts) lines.push_back(made(part));
  return lines;
}

void set_linear(JsonLine& line, const LinearForm& form) {
  const auto coefficients = parts_of(form.coefficients, [](const Coefficient& one) {
    JsonLine part;
    part.set("column", one.column).set("part", one.part).set("values", std::span<const double>(one.values));
    return part;
  });
  line.set("linear.unit", form.unit).set("linear.intercept", std::span<const double>(form.intercept));
  line.set("linear.coefficients", std::span<const JsonLine>(coefficients));
}

void print_json(const UseOptions& options, const Explanation& made, const Words& classes) {
  JsonLine line("explanation");
  line.set("rows", made.rows).set("of_rows", made.all_rows).set("left_out", made.bad_rows.count);
  if (made.features) {
    const auto features = parts_of(made.features->heaviest, feature_json);
    line.set("unit", made.features->unit).set("named", made.features->has_names);
    line.set("different_features", made.features->features).set("colliding", made.features->colliding);
    line.set("features", std::span<const JsonLine>(features)).print();
    return;
  }
  const auto importance = parts_of(made.importance, importance_json);
  const auto dependence = parts_of(made.dependence, dependence_json);
  line.set("seed", options.explain.seed).set("repeats", options.explain.repeats);
  line.set("measure", made.measure).set("score", made.score);
  line.set("importance", std::span<const JsonLine>(importance));
  line.set("averaged_rows", made.averaged).set("means_of", std::span<const std::string>(outputs_of(classes)));
  line.set("dependence", std::span<const JsonLine>(dependence));
  if (made.linear) set_linear(line, *made.linear);
  line.print();
}

}  // namespace

int explain(const UseOptions& options) {
  refuse_model(options.spec.data.path);
  const auto model = TrainedModel::load(options.model, Checkpoint::read(options.model));
  refuse_foreign_options(options, model->kind());
  NewData data = new_data(options, *model);
  if (!options.csv.empty()) {
    check_can_save(options.csv, options.spec.data);
    refuse_same_file(options.csv, options.model, "the model");
  }
  const StopSignal stop;
  data.stop = &stop.flag();
  std::optional<Progress> progress;
  const char* unit = model->kind() == ModelKind::stream ? "rows" : "predictions";
  data.progress = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace("explaining", total, unit, options.json);
    progress->update(done);
  };
  Explanation made;
  try {
    made = model->explain(data, options.explain);
  } catch (const Stopped&) {
    progress.reset();
    print_error("ignd: interrupted; nothing was explained or written\n");
    return interrupted_code;
  }
  progress.reset();
  const std::string left_out = left_out_text(made.bad_rows, made.all_rows + made.bad_rows.count);
  if (!left_out.empty()) print_error("ignd: {}\n", left_out);
  if (!options.csv.empty()) write_file_atomically(options.csv, dependence_csv(made, outputs_of(model->classes())));
  if (options.json) {
    print_json(options, made, model->classes());
  } else {
    print_explanation(options, made, model->classes());
  }
  return 0;
}

}  // namespace ignd::cli
