#include "lab/optimizer_study.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "ignd/vector_loss.hpp"
#include "lab/table_study_task.hpp"
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

std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\u{:04X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(toml_text(text));
  return "[" + join(quoted, ", ") + "]";
}

std::string all_pairs(const std::vector<std::string>& names) {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) pairs.push_back(toml_list({names[i], names[k]}));
  }
  return "[" + join(pairs, ", ") + "]";
}

std::string settings_text(const TableStudy& study) {
  const Settings settings = settings_of(study);
  std::string lines;
  for (const SettingKey& key : table_study_keys()) {
    const std::string& value = settings.word(key.name);
    lines += fmt::format("{} = {}\n", key.name, key.kind == SettingKey::Kind::word ? toml_text(value) : value);
  }
  return lines;
}

std::string baseline_text(const char* name, const char* model) {
  return fmt::format("\n[[panel.method]]\nname = {}\noptimizer = \"sgd\"\nrate = 0\nsettings = {{ model = {} }}\n",
                     toml_text(name), toml_text(model));
}

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

std::string optimizer_text(const std::string& name) {
  const std::size_t plus = plus_in(name);
  if (plus == std::string::npos) return fmt::format("optimizer = {}", toml_text(name));
  return fmt::format("rule = {}\ntransform = {}", toml_text(name.substr(0, plus)), toml_text(name.substr(plus + 1)));
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

std::string experiment_text(const OptimizerStudy& study, const TableDataset& table) {
  const std::string file = std::filesystem::path(study.table.data.path).filename();
  const std::string& target = study.table.task.target;
  const bool classes = table.target().is_class();
  std::string text = fmt::format("title = {}\n", toml_text(fmt::format("Optimizers on {}", file)));
  text +=
      fmt::format("question = {}\n",
                  toml_text(fmt::format("Which optimizer predicts {} best, and how sure is that?", in_quotes(target))));
  text += fmt::format("description = {}\n", toml_text(description));
  text += "task = \"table\"\n";
  text += fmt::format("seeds = {}\n", study.seeds);
  text += "x-label = \"epoch\"\n";
  text += fmt::format("metric = {{ label = {}, better = \"lower\" }}\n", toml_text(score_name(table)));
  text += "figures = [\"curves\", \"rates\"]\n";
  text += fmt::format("columns = {}\n", toml_list(further_columns(table)));
  text += fmt::format("compare = {}\n", all_pairs(study.optimizers));
  text += "\n[settings]\n" + settings_text(study.table);
  text += fmt::format("\n[search]\nrates = {}\nchoose-by = \"validation\"\n", study.rates.toml());
  text += fmt::format("\n[[panel]]\nname = \"table\"\ntitle = {}\n", toml_text(fmt::format("{} of {}", target, file)));
  if (!study.note.empty()) text += fmt::format("note = {}\n", toml_text(study.note));
  for (const std::string& name : study.optimizers) {
    text += fmt::format("\n[[panel.method]]\nname = {}\n{}\n", toml_text(name), optimizer_text(name));
  }
  if (table.encoder().features() <= most_baseline_features && !table.target().is_multiclass()) {
    text += baseline_text(classes ? "logistic regression" : "least squares", best_linear_model);
  }
  return text + baseline_text(constant_name(table), best_constant_model);
}

}  // namespace ignd
