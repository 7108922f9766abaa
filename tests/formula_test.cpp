#include "report/formula.hpp"

#include "ignd/random.hpp"
#include "markup.hpp"
#include "report/format.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ignd {
namespace {

TEST(Formula, IsSetOnPages) {
  const std::pair<const char*, const char*> cases[] = {
      {"eps_LM = 1e-5", "<i>ε</i><sub>LM</sub> = 1e-5"},
      {"in [-10^4, 10^4].", "in [-10<sup>4</sup>, 10<sup>4</sup>]."},
      {"h = j^T dw", "h = <i>j</i><sup>T</sup> dw"},
      {"||j||^2 <= 1", "‖j‖<sup>2</sup> ≤ 1"},
      {"-(|s|^2 + |a|^2)", "-(|s|<sup>2</sup> + |a|<sup>2</sup>)"},
      {"rho = 10^U(-0.5, 0.5) drawn", "<i>ρ</i> = 10<sup>U(−0.5, 0.5)</sup> drawn"},
      {"the products z_i z_j of states", "the products <i>z</i><sub>i</sub> <i>z</i><sub>j</sub> of states"},
      {"w_i^2 and M_aa < 0", "<i>w</i><sub>i</sub><sup>2</sup> and <i>M</i><sub>aa</sub> &lt; 0"},
      {"||K* - K||_F", "‖<i>K</i><sup>*</sup> - K‖_F"},
      {"log10 of phi", "log<sub>10</sub> of <i>φ</i>"},
      {"10^-5, 10^{n+1}, x^(2)", "10<sup>−5</sup>, 10<sup>n+1</sup>, <i>x</i><sup>2</sup>"},
      {"l_ff + eps_c", "<i>l</i><sub>ff</sub> + <i>ε</i><sub>c</sub>"}};
  for (const auto& [text, html] : cases) EXPECT_EQ(html_formulas(text), html) << text;
}

TEST(Formula, NamesStayNames) {
  for (const auto* text :
       {"frozen_lake", "x_train and scale_target", "gamma-ray", "log_alpha", "alpha_beta_gamma.toml", "a^", "^2", "_a",
        "{_a^b}", "2 * 3", "beta1=0.9", "a_", "K**", "delta-x", "study.phi.csv", "e^i_pi_2", "α_ä", "x_1a2b3"}) {
    EXPECT_EQ(html_formulas(text), html_text(text));
    EXPECT_EQ(plain_formulas(text), text);
  }
}

TEST(Formula, IsPlainTextInDrawings) {
  EXPECT_EQ(plain_formulas("log10 of phi"), "log₁₀ of φ");
  EXPECT_EQ(plain_formulas("||j||^2 at 10^-15"), "‖j‖² at 10⁻¹⁵");
  EXPECT_EQ(plain_formulas("eps_LM, x_0, K*"), "ε_LM, x₀, K*");
  EXPECT_EQ(plain_formulas("10^U(-0.5, 0.5)"), "10^(U(−0.5, 0.5))") << "there are no small letters for all of it";
}

TEST(Formula, TextsAreEscapedAndNothingIsLost) {
  EXPECT_EQ(html_formulas("x_{<b>} & \"q\""), "<i>x</i><sub>&lt;b&gt;</sub> &amp; &quot;q&quot;");
  RandomStream stream(7, "formulas");
  static const std::string pieces[] = {"x",      "_", "^",    "{",   "}",     "(", ")", "<",  ">",  "&",
                                       "\"",     "'", "eps",  "phi", "1",     "-", "*", "|",  "||", " ",
                                       "script", "é", "\xff", "10",  "log10", "T", ",", "<b>"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t k = stream.below(12); k > 0; --k) text += pieces[stream.below(std::size(pieces))];
    const testing::Markup markup = testing::read_markup("<p>" + html_formulas(text) + "</p>");
    EXPECT_EQ(markup.faults, std::vector<std::string>{}) << text;
    for (const testing::Element& element : markup.elements) {
      EXPECT_TRUE(element.name == "p" || element.name == "sub" || element.name == "sup" || element.name == "i") << text;
      EXPECT_TRUE(element.attributes.empty());
    }
    std::string parts;
    for (const FormulaPart& part : split_formulas(clean_text(text))) parts += part.text;
    EXPECT_EQ(markup.text, parts);
  }
}

}  // namespace
}  // namespace ignd
