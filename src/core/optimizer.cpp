#include "ignd/optimizer.hpp"

#include "base/spec.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"

#include <array>

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

}  // namespace

bool Optimizer::has_gradient_rule() const { return make_step_rule(rule)->is_gradient(); }

bool Optimizer::has_plain_transform() const { return make_transform<double>(transform)->is_plain(); }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, optimizer] : optimizers()) names.emplace_back(name);
  return names;
}

Optimizer find_optimizer(std::string_view text) {
  const Spec spec("optimizer", text);
  for (const auto& [name, optimizer] : optimizers()) {
    if (spec.name() != name) continue;
    spec.finish();
    return optimizer;
  }
  spec.refuse_name(optimizer_names());
}

}  // namespace ignd
