#include "ignd/optimizer.hpp"

#include "base/spec.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"

#include <array>
#include <cctype>

namespace ignd {
namespace {

struct Named {
  const char* name;
  Optimizer optimizer;
};

const std::array<Named, 9>& optimizers() {
  static const std::array<Named, 9> all{{
      {"sgd", {"gradient", "plain"}},
      {"ignd", {"gauss-newton", "plain"}},
      {"adam", {"gradient", "adam"}},
      {"adam-ignd", {"gauss-newton", "adam"}},
      {"sps", {"polyak", "plain"}},
      {"ngd", {"normalized", "plain"}},
      {"relative-ignd", {"relative", "plain"}},
      {"adam-relative-ignd", {"relative", "adam"}},
      {"nlms", {"gauss-newton:eps_c=0,eps_lm=0", "plain"}},
  }};
  return all;
}

// Between a rule and a transform, and not in a number such as 1e+3.
std::size_t plus_in(std::string_view text) {
  std::size_t plus = text.find('+');
  while (plus != std::string_view::npos && plus + 1 < text.size() &&
         std::isalpha(static_cast<unsigned char>(text[plus + 1])) == 0) {
    plus = text.find('+', plus + 1);
  }
  return plus;
}

}  // namespace

bool Optimizer::has_gradient_rule() const { return make_step_rule(rule)->is_gradient(); }

bool Optimizer::has_plain_transform() const { return make_transform<double>(transform)->is_plain(); }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, optimizer] : optimizers()) names.emplace_back(name);
  return names;
}

Optimizer find_optimizer(std::string_view text) {
  const std::size_t plus = plus_in(text);
  if (plus != std::string_view::npos) return make_optimizer(text.substr(0, plus), text.substr(plus + 1));
  const Spec spec("optimizer", text);
  for (const auto& [name, optimizer] : optimizers()) {
    if (spec.name() != name) continue;
    spec.finish();
    return optimizer;
  }
  spec.refuse_name(optimizer_names());
}

Optimizer make_optimizer(std::string_view rule, std::string_view transform) {
  Optimizer pair{tidy_spec(rule), tidy_spec(transform)};
  make_step_rule(pair.rule);
  make_transform<double>(pair.transform);
  return pair;
}

}  // namespace ignd
