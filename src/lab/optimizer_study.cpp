#include "lab/optimizer_study.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/baselines.hpp"

#include <cctype>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* description =
    "Every optimizer is trained at every rate and seed, as `ignd train` does it with the same options. A seed draws "
    "the split, the initial weights and the order of the rows, the same for all optimizers. The rate is the one with "
    "the best mean on the validation rows; the numbers are those of the test rows. The curves are those of the "
    "iterate after each epoch, on the test rows and on the validation rows.";

// For other losses than these, the mean is not the best constant.
const char* constant_name(const TableDataset& table) {
  const auto loss = make_vector_loss(table.loss());
  const bool best = loss->is_squared_error() || table.target().is_class() || loss->link() == Link::log;
  return best ? "best constant" : "the mean";
}

// Between a rule and a transform, and not in a number such as 1e+3.
std::size_t plus_in(const std::string& name) {
  std::size_t plus = name.find('+');
  while (plus != std::string::npos && plus + 1 < name.size() &&
         std::isalpha(static_cast<unsigned char>(name[plus + 1])) == 0) {
    plus = name.find('+', plus + 1);
  }
  return plus;
}

// "eps_c=0": of the part before, since no name has such a sign.
bool is_option(const std::string& part) {
  const std::size_t equals = part.find('=');
  return equals != std::string::npos && part.find(':') > equals;
}

std::vector<Comparison> all_pairs(const std::vector<std::string>& names) {
  std::vector<Comparison> pairs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) pairs.push_back({names[i], names[k]});
  }
  return pairs;
}

Method baseline(const char* name, const char* model, RunSpec spec) {
  spec.model = model;
  Method method;
  method.name = name;
  method.optimizer = find_optimizer("sgd");  // which is not used
  method.rate = 0;
  method.settings = settings_of(spec);
  return method;
}

// The scores that suit the target.
std::vector<std::string> further_columns(const TableDataset& table) {
  if (table.target().is_multiclass()) return {"accuracy", "macro-f1"};
  if (table.target().is_class()) return {"accuracy", "auc"};
  if (make_vector_loss(table.loss())->is_squared_error()) return {"mae", "mape", "r2"};
  return {"rmse", "mae", "r2"};
}

}  // namespace

Optimizer optimizer_named(const std::string& name) {
  const std::size_t plus = plus_in(name);
  if (plus == std::string::npos) return find_optimizer(name);
  Optimizer pair{tidy_spec(name.substr(0, plus)), tidy_spec(name.substr(plus + 1))};
  make_step_rule(pair.rule);
  make_transform<float>(pair.transform);
  return pair;
}

std::vector<std::string> parse_optimizers(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view words : split(text, ',')) {
    const std::string part = tidy_spec(words);
    if (!names.empty() && is_option(part)) {
      names.back() += "," + part;
    } else {
      names.push_back(part);
    }
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    optimizer_named(name);
    if (!seen.insert(name).second) {
      throw InvalidArgument(fmt::format("the optimizer {} is named twice", in_quotes(name)));
    }
  }
  return names;
}

Experiment make_experiment(const OptimizerStudy& study, const TableDataset& table, const std::string& name) {
  const std::string file = std::filesystem::path(study.spec.data.path).filename();
  const std::string& target = study.spec.dataset.target;
  const bool classes = table.target().is_class();
  Experiment made;
  made.name = name;
  made.title = fmt::format("Optimizers on {}", file);
  made.question = fmt::format("Which optimizer predicts {} best, and how sure is that?", in_quotes(target));
  made.description = description;
  made.task = "training";
  made.seeds = study.seeds;
  made.x_label = "epoch";
  made.metric = {.label = score_label(table, study.spec.record.score)};
  made.figures = {FigureKind::curves, FigureKind::rates};
  made.columns = further_columns(table);
  made.comparisons = all_pairs(study.optimizers);
  made.search = {.rates = study.rates.values(), .by_validation = true, .tuning_seeds = 0, .keep = {}};
  Panel panel{"table", fmt::format("{} of {}", target, file), study.note, {}};
  for (const std::string& optimizer : study.optimizers) {
    Method method;
    method.name = optimizer;
    method.optimizer = optimizer_named(optimizer);
    method.settings = settings_of(study.spec);
    panel.methods.push_back(std::move(method));
  }
  if (table.encoder().features() <= most_baseline_features && !table.target().is_multiclass()) {
    panel.methods.push_back(baseline(classes ? "logistic regression" : "least squares", best_linear_model, study.spec));
  }
  panel.methods.push_back(baseline(constant_name(table), best_constant_model, study.spec));
  made.panels.push_back(std::move(panel));
  return made;
}

}  // namespace ignd
