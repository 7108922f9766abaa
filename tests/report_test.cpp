#include "report/report.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"
#include "made_up_results.hpp"
#include "markup.hpp"
#include "report/drawing.hpp"
#include "report/format.hpp"
#include "report/gnuplot.hpp"
#include "report/page.hpp"
#include "report/paper_table.hpp"
#include "report/result_table.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ignd {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string content_of(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

void put(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string base64_of_sha256(const std::string& text) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(text);
  std::string out;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char c : hex) {
    bits = bits * 16 + static_cast<unsigned>(c >= 'a' ? c - 'a' + 10 : c - '0');
    for (held += 4; held >= 6; held -= 6) out += digits[(bits >> (held - 6)) % 64];
    bits %= 1U << held;
  }
  return out + digits[(bits << (6 - held)) % 64] + "=";  // 256 bits are 42 digits and four bits
}

// Everything that can be wrong with a page, whatever is on it.
void expect_sound_page(const std::string& html) {
  const Markup page = read_markup(html);
  EXPECT_EQ(page.faults, std::vector<std::string>{});
  const auto ids = values_of(page, "id");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << "ids are unique";
  for (const auto* attribute : {"href", "xlink:href"}) {
    for (const std::string& target : values_of(page, attribute)) {
      if (target.starts_with("#")) {
        EXPECT_NE(std::ranges::find(ids, target.substr(1)), ids.end()) << target;
      } else {
        EXPECT_EQ(target.find_first_of(":/\\"), std::string::npos) << target << " is not a file beside the page";
      }
    }
  }
  EXPECT_TRUE(values_of(page, "src").empty());
  EXPECT_TRUE(values_of(page, "style").empty());
  for (const Element& element : page.elements) {
    EXPECT_TRUE(element.name != "script" || element.attributes.empty()) << "the page's own, and inline";
    for (const auto* name : {"link", "img", "iframe", "object", "embed", "base", "form"}) {
      EXPECT_NE(element.name, name);
    }
    for (const auto& [name, value] : element.attributes) EXPECT_FALSE(name.starts_with("on")) << name;
  }
  EXPECT_EQ(page.scripts.size(), 1U);
  EXPECT_TRUE(page.scripts == read_markup(report_page({})).scripts) << "the same whatever is on the page";
  EXPECT_TRUE(contains(html, "script-src 'sha256-" + base64_of_sha256(page.scripts.at(0)) + "'"));
  EXPECT_TRUE(contains(html, "content=\"default-src 'none';"));
  for (std::size_t at = html.find("0 of 0"); at != std::string::npos; at = html.find("0 of 0", at + 1)) {
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(html[at - 1]))) << html.substr(at - 20, 40);
  }
  EXPECT_FALSE(contains(html, "@import"));
  EXPECT_FALSE(contains(html, "url(http"));
}

std::string page_of(const std::vector<ExperimentResults>& experiments, const std::string& gnuplot = "gnuplot") {
  const ScratchFolder folder;
  const WrittenReport written = write_report(experiments, folder / "report", gnuplot);
  EXPECT_TRUE(written.warnings.empty() || gnuplot != "gnuplot") << written.warnings[0];
  return content_of(folder / "report" / "report.html");
}

std::string text_of_page(const std::vector<ExperimentResults>& experiments) {
  return read_markup(page_of(experiments)).text;
}

// With IGND_REPORT_DEMO=FOLDER the report stays there, to be looked at.
TEST(Report, EveryFileIsWrittenAndListed) {
  const ScratchFolder scratch;
  const char* kept = std::getenv("IGND_REPORT_DEMO");
  const fs::path folder = kept != nullptr ? fs::path(kept) : scratch / "report";
  const WrittenReport written =
      write_report({lake_experiment(), control_experiment(), half_finished_preview()}, folder);
  EXPECT_EQ(written.warnings, std::vector<std::string>{});
  std::set<std::string> expected{"report.html", "summary.json"};
  for (const std::string name : {"frozen-lake", "lqr", "frozen-lake-quick"}) {
    for (const auto* ending : {"-curves.svg", "-curves.pdf", "-curves.png", "-curves.csv", "-table.md", "-table.tex"}) {
      expected.insert(name + ending);
    }
  }
  std::set<std::string> listed;
  for (const fs::path& file : written.files) listed.insert(file.filename().string());
  std::set<std::string> there;
  for (const auto& file : fs::directory_iterator(folder)) there.insert(file.path().filename().string());
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(there, expected);

  EXPECT_TRUE(content_of(folder / "lqr-curves.pdf").starts_with("%PDF"));
  EXPECT_TRUE(content_of(folder / "lqr-curves.png").starts_with("\x89PNG"));
  const Markup svg = read_markup(content_of(folder / "lqr-curves.svg"));
  EXPECT_EQ(svg.faults, std::vector<std::string>{});
  for (const auto* part : {"Linear-quadratic control", "BDT, stochastic", "IGNDQ", "QL (2 of 20 failed)",
                           "policy improvements", "policy error"}) {
    EXPECT_TRUE(contains(svg.text, part)) << part;
  }
  const std::string html = content_of(folder / "report.html");
  expect_sound_page(html);
  const Markup page = read_markup(html);
  const auto links = values_of(page, "href");
  const auto ids = values_of(page, "id");
  for (const auto* anchor : {"frozen-lake", "lqr", "frozen-lake-quick"}) {
    EXPECT_EQ(std::ranges::count(links, "#" + std::string(anchor)), 1);
    EXPECT_EQ(std::ranges::count(ids, anchor), 1);
  }
  EXPECT_EQ(std::ranges::count_if(page.elements, [](const Element& e) { return e.attributes.contains("aria-label"); }),
            1 + 2 + 4 + 2)
      << "the contents, and a drawing for every panel";
}

TEST(Report, ThePageSaysWhatTheResultsSay) {
  const std::string text = text_of_page({control_experiment()});
  const ExperimentResults experiment = control_experiment();
  for (const std::string& part : {experiment.title,
                                  experiment.question,
                                  experiment.command,
                                  experiment.hosts[0],
                                  experiment.versions[1],
                                  experiment.warnings[0],
                                  experiment.panels[1].note,
                                  std::string("figure 3"),
                                  std::string("6 min 55 s"),
                                  std::string("13 min 32 s"),
                                  std::string("352 of 352"),
                                  std::string("1 to 20"),
                                  std::string("geometric means over the seeds"),
                                  std::string("5e-15"),
                                  std::string("0.0001 (chosen)"),
                                  std::string("IGNDQ: rate 1, of 0.001 to 1; a better one may lie beyond"),
                                  std::string("seed 5 diverged at 60"),
                                  std::string("QL: no mean, since 2 of 20 runs have no score. The other 18: "),
                                  std::string("Some runs end before others"),
                                  std::string("difference of log10"),
                                  std::string("20 of 20")}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
}

TEST(Report, FoldedSearchesShowEveryRate) {
  const std::string html = page_of({control_experiment()});
  EXPECT_EQ(count(html, "<details>"), 4U);
  EXPECT_EQ(count(html, "(chosen)"), 8U);
  EXPECT_EQ(count(html, "<td>1e-7</td><td>0.48</td><td>3 of 3</td><td>0</td>"), 4U);
  EXPECT_EQ(count(html, "<td>0.1</td><td>n/a</td><td>3 of 3</td><td>2</td>"), 4U);
}

TEST(Report, FailuresThatAreWorthSomethingCountAndAreShown) {
  const std::string text = text_of_page({lake_experiment()});
  EXPECT_TRUE(contains(text, "QL, rate 1 (13 of 20 failed)"));
  EXPECT_TRUE(contains(text, "13 of 20 runs failed and count with what failing is worth"));
  EXPECT_TRUE(contains(text, "0.73 ± 0.01")) << "the paper's";
  EXPECT_FALSE(contains(text, "geometric"));
  EXPECT_FALSE(contains(text, "Not finished"));
}

TEST(Report, APreviewIsNeverBesideThePaper) {
  const ExperimentResults preview = half_finished_preview();
  const std::string page = page_of({preview});
  EXPECT_TRUE(contains(page, "A preview"));
  EXPECT_FALSE(contains(page, "<td>0.73 ± 0.01</td>"));
  EXPECT_TRUE(contains(page_of({lake_experiment()}), "<td>0.73 ± 0.01</td>"));
  const auto header = result_header(preview);
  EXPECT_EQ(std::ranges::find(header, "paper"), header.end());
  EXPECT_TRUE(contains(markdown_tables(preview), "A preview"));
  EXPECT_TRUE(contains(latex_table(preview), "% A preview"));
  EXPECT_TRUE(contains(figure_script(curve_figure(preview), FigureFormat::svg), "(preview)"));
}

TEST(Report, WhatIsMissingIsSaid) {
  const std::string text = text_of_page({half_finished_preview()});
  EXPECT_TRUE(contains(text, "Not finished: 78 of 129 runs are done."));
  EXPECT_TRUE(contains(text, "Scaled features: QL, rate 1e-84 of 90 of 20")) << "name, search and seeds";
  EXPECT_TRUE(contains(text, "QL, rate 1e-8: the search for the rate is not finished."));
  EXPECT_TRUE(contains(text, "IGNDQ, rate 1 (7 of 20 seeds)"));
}

TEST(Report, ASearchWithoutASurvivorIsSaid) {
  ExperimentResults experiment = half_finished_preview();
  experiment.panels[1].methods[2].search = {{1, 3, 3, 3, {}}, {10, 3, 3, 3, {}}};
  EXPECT_TRUE(contains(markdown_tables(experiment), "no rate of the search finished, so none is chosen"));
}

TEST(Report, JsonHasTheNumbers) {
  const ScratchFolder folder;
  write_report({control_experiment(), half_finished_preview()}, folder / "r");
  const Json summary = Json::parse(content_of(folder / "r" / "summary.json"));
  ASSERT_EQ(summary.at("experiments").size(), 2U);
  const Json& control = summary["experiments"][0];
  EXPECT_EQ(control.at("name"), "lqr");
  EXPECT_EQ(control.at("title"), "Linear-quadratic control");
  EXPECT_EQ(control.at("preview"), false);
  EXPECT_EQ(control.at("planned"), 352);
  EXPECT_EQ(control.at("done"), 352);
  EXPECT_EQ(control.at("wall_seconds"), 415.2);
  EXPECT_EQ(control.at("run_seconds"), 812.4);
  const Json& panel = control.at("panels").at(2);
  EXPECT_EQ(panel.at("name"), "bdt-deterministic");
  const Json& failed = panel.at("rows").at(0);
  EXPECT_EQ(failed.at("method"), "QL");
  EXPECT_EQ(failed.at("learning_rate"), 1e-4);
  EXPECT_TRUE(failed.at("mean").is_null());
  EXPECT_TRUE(failed.at("std").is_null());
  EXPECT_EQ(failed.at("seeds"), 20);
  EXPECT_EQ(failed.at("failed"), 2);
  EXPECT_EQ(failed.at("paper_mean"), 2e-5);
  EXPECT_TRUE(failed.at("paper_std").is_null());
  const MethodResults ours = control_experiment().panels[2].methods[1];
  EXPECT_EQ(panel["rows"][1].at("mean"), *summarize(ours).all.mean);
  EXPECT_EQ(panel["rows"][1].at("std"), *summarize(ours).all.deviation);
  const Json& broken_pair = panel.at("comparisons").at(0);
  EXPECT_EQ(broken_pair.at("better"), "IGNDQ");
  EXPECT_EQ(broken_pair.at("worse"), "QL");
  EXPECT_TRUE(broken_pair.at("difference").is_null());
  EXPECT_EQ(broken_pair.at("wins"), 20);
  EXPECT_EQ(broken_pair.at("pairs"), 20);
  EXPECT_EQ(broken_pair.at("log"), true);
  const Json& pair = control["panels"][0]["comparisons"][0];
  EXPECT_LT(pair.at("difference").get<double>(), -5);
  EXPECT_GT(pair.at("standard_error").get<double>(), 0);

  const Json& preview = summary["experiments"][1];
  EXPECT_EQ(preview.at("preview"), true);
  EXPECT_TRUE(preview["panels"][1]["rows"][2].at("learning_rate").is_null());
  for (const Json& rows : {preview["panels"][0]["rows"], preview["panels"][1]["rows"]}) {
    for (const Json& row : rows) EXPECT_TRUE(row.at("paper_mean").is_null() && row.at("paper_std").is_null());
  }
}

TEST(Report, ShowsWhatRunsHaveLearnedAndWhatIsToBeKnownOfThem) {
  const ScratchFolder scratch;
  ExperimentResults experiment = control_experiment();
  experiment.panels[1].advice = {"The initial policy has no finite cost."};
  experiment.panels[1].methods[0].runs[0].result.matrices = {{"K", {{0.25, -3}, {1e-9, 0}}}};
  write_report({experiment}, scratch / "report");
  const std::string page = content_of(scratch / "report/report.html");
  EXPECT_NE(page.find("The initial policy has no finite cost."), std::string::npos);
  EXPECT_NE(page.find("<tr><td>0.25</td><td>-3</td></tr>\n<tr><td>1e-09</td><td>0</td></tr>"), std::string::npos);
  const Json panels = Json::parse(content_of(scratch / "report/summary.json"))["experiments"][0]["panels"];
  EXPECT_EQ(panels[1]["advice"], Json({"The initial policy has no finite cost."}));
  EXPECT_EQ(panels[1]["rows"][0]["matrices"]["K"], Json({{0.25, -3.0}, {1e-9, 0.0}}));
  EXPECT_TRUE(panels[0]["rows"][0]["matrices"].empty());
}

TEST(Report, WhatTakesNoRateHasNone) {
  ExperimentResults experiment = lake_experiment();
  MethodResults& baseline = experiment.panels[0].methods[0];
  baseline.name = "best constant";
  baseline.rate = 0;
  EXPECT_EQ(result_table(experiment, experiment.panels[0]).rows[0].cells[1], "");
  EXPECT_EQ(result_table(experiment, experiment.panels[0]).rows[1].cells[1], "1");
  const Json rows = Json::parse(summary_json({experiment}))["experiments"][0]["panels"][0]["rows"];
  EXPECT_TRUE(rows[0].at("learning_rate").is_null());
  EXPECT_EQ(rows[1].at("learning_rate"), 1);
}

TEST(Report, TheSameDigitsOfAnotherSizeAreNotTheSame) {
  ExperimentResults experiment;
  experiment.metric = {"error", false, true};
  const MethodResults small = method_with("small", {scored_run(5.1e-15), scored_run(5.3e-15)});
  const MethodResults large = method_with("large", {scored_run(5.1e-4), scored_run(5.3e-4)});
  experiment.panels = {{"p", "P", "", {small, large}}};
  const std::string markdown = markdown_tables(experiment);
  EXPECT_TRUE(contains(markdown, "| small | 0.1 | **(5.20 ± 0.14)e-15** |")) << markdown;
  EXPECT_TRUE(contains(markdown, "| large | 0.1 | (5.20 ± 0.14)e-4 |")) << markdown;
}

TEST(Report, TablesInMarkdownAndLatex) {
  ExperimentResults experiment;
  experiment.name = experiment.title = "t";
  experiment.metric = {"MAPE", false, false};
  experiment.planned = experiment.done = 4;
  MethodResults sgd = method_with("SGD", {scored_run(0.2), scored_run(0.3)});
  sgd.paper_mean = 0.267;
  sgd.paper_std = 0.012;
  sgd.edges = {"rate 0.1, of 0.001 to 0.1"};
  const MethodResults ignd = method_with("IGND", {scored_run(0.1), scored_run(0.2)});
  experiment.panels = {{"housing", "Housing", "", {sgd, ignd}}};
  experiment.comparisons = {{"IGND", "SGD"}};
  const std::string markdown = markdown_tables(experiment);
  for (const auto* line : {"| method | rate | MAPE | paper | seeds | failed |\n|---|--:|--:|--:|--:|--:|\n",
                           "| SGD | 0.1 † | 0.250 ± 0.071 | 0.267 ± 0.012 | 2 | 0 |\n",
                           "| IGND | 0.1 | **0.150 ± 0.071** |  | 2 | 0 |\n", "| IGND − SGD | -0.1 ± ", "| 2 of 2 |"}) {
    EXPECT_TRUE(contains(markdown, line)) << line << "\n" << markdown;
  }
  const std::string latex = latex_table(experiment);
  for (const auto* line :
       {"\\begin{tabular}{@{}lrrrrr@{}}\n\\toprule\nmethod & rate & MAPE & paper & seeds & failed \\\\\n",
        "SGD & 0.1 $\\dagger$ & 0.250 $\\pm$ 0.071 & 0.267 $\\pm$ 0.012 & 2 & 0 \\\\\n", "\\textbf{0.150 $\\pm$ 0.071}",
        "\\bottomrule\n\\end{tabular}\n"}) {
    EXPECT_TRUE(contains(latex, line)) << line << "\n" << latex;
  }
}

// An experiment with one panel and numbers of the paper.
ExperimentResults in_paper(const std::string& name, const std::string& place, std::vector<MethodResults> methods,
                           std::uint64_t done) {
  ExperimentResults results;
  results.name = name;
  results.title = "T " + name;
  results.paper = place;
  results.metric.label = "error";
  for (MethodResults& method : methods) method.paper_mean = 0.8;
  results.panels = {{name, "P " + name, "", std::move(methods)}};
  results.planned = 4;
  results.done = done;
  return results;
}

TEST(Report, ThePapersTableHasOursBesideIt) {
  const std::vector<RunResult> two{scored_run(0.7), scored_run(0.9)};
  const std::vector<RunResult> lower_two{scored_run(0.5), scored_run(0.6)};
  MethodResults half = method_with("SGD", {scored_run(0.7)});
  half.planned = 2;
  std::vector<ExperimentResults> all{
      in_paper("whole", "table 2 b", {method_with("SGD", two), method_with("IGND", two)}, 4),
      in_paper("half", "table 2 a", {half, method_with("Adam", {})}, 1),
      in_paper("quick", "table 2 c", {method_with("IGND", two)}, 4)};
  all[0].panels[0].methods.push_back(method_with("not in the paper", two));
  all[2].preview = true;
  const std::vector<ExperimentResults> others{in_paper("absent", "table 2 d", {method_with("SGD", lower_two)}, 0)};
  const PaperTable table = paper_table(all, others);
  EXPECT_EQ(table.header, (std::vector<std::string>{"optimizer", "", "P half, error", "P whole, error",
                                                    "P quick, error", "P absent, error"}))
      << "in the order of the paper";
  std::vector<std::vector<std::string>> cells;
  for (const ResultRow& row : table.table.rows) cells.push_back(row.cells);
  EXPECT_EQ(cells, (std::vector<std::vector<std::string>>{{"SGD", "paper", "0.8", "0.8", "", "0.8"},
                                                          {"", "here", "0.7 (1 of 2 seeds)", "0.80 ± 0.14", "", "–"},
                                                          {"Adam", "paper", "0.8", "", "", ""},
                                                          {"", "here", "–", "", "", ""},
                                                          {"IGND", "paper", "", "0.8", "0.8", ""},
                                                          {"", "here", "", "0.80 ± 0.14", "–", ""}}));
  EXPECT_TRUE(std::ranges::all_of(table.table.rows, [](const ResultRow& row) { return row.bold.empty(); }))
      << "no test tells them apart";
  EXPECT_EQ(table.missing, (std::vector<std::string>{"T half (table 2 a): 1 of 4 runs are there; ignd reproduce half",
                                                     "T quick (table 2 c): there is a preview only; ignd reproduce "
                                                     "quick"}))
      << "nothing of what was not asked for";
  EXPECT_EQ(table.table.notes.back(), "Not part of this report: P absent.");
  EXPECT_TRUE(paper_table({}, others).table.rows.empty());
  EXPECT_TRUE(paper_table({all[2]}, others).table.rows.empty()) << "a preview has nothing to stand beside it";
  EXPECT_TRUE(paper_table({all[2]}, others).missing.empty());

  const ScratchFolder scratch;
  write_report({all[0]}, scratch / "with", "gnuplot", others);
  write_report({lake_experiment()}, scratch / "control");
  const std::string page = content_of(scratch / "with/report.html");
  expect_sound_page(page);
  EXPECT_TRUE(contains(page, "The paper&#39;s numbers and ours"));
  EXPECT_FALSE(contains(page, "not yet"));
}

TEST(Report, ThePapersTableIsBoldWhereATestTellsApart) {
  const std::vector<RunResult> low{scored_run(0.50), scored_run(0.60), scored_run(0.55)};
  const std::vector<RunResult> high{scored_run(0.71), scored_run(0.80), scored_run(0.76)};
  const auto table =
      paper_table({in_paper("a", "table 2", {method_with("SGD", high), method_with("IGND", low)}, 4)}).table;
  EXPECT_EQ(table.rows[3].bold, std::vector<std::size_t>{2});
  EXPECT_TRUE(table.rows[1].bold.empty());
}

TEST(Report, ConstantsAreWhatTheOptimizersSayOfThemselves) {
  ExperimentResults experiment = in_paper("a", "table 2", {method_with("IGND", {}), method_with("Adam-IGND", {})}, 0);
  auto& methods = experiment.panels[0].methods;
  methods[0].rule = methods[1].rule = "gauss-newton";
  methods[0].transform = "plain";
  methods[1].transform = "adam:beta1=0.8";
  methods.push_back(method_with("baseline", {}));
  methods.back().rule = "normalized";
  methods.back().rate = 0;
  methods.push_back(method_with("nonsense", {}));
  methods.back().rule = methods.back().transform = "<b>";
  EXPECT_EQ(optimizer_constants(experiment),
            (std::vector<std::string>{
                "IGND, Adam-IGND: gauss-newton with eps_c = the loss's own (squared 0, logistic 0.01), eps_LM = 1e-5",
                "Adam-IGND: adam with beta_1 = 0.8, beta_2 = 0.999, eps = 1e-8"}));
  methods.resize(1);
  methods[0].rule = "gauss-newton:eps_c=0.5,eps_lm=2";
  EXPECT_EQ(optimizer_constants(experiment),
            std::vector<std::string>{"IGND: gauss-newton with eps_c = 0.5, eps_LM = 2"});
  const std::string page = page_of({experiment});
  EXPECT_TRUE(contains(page, "<i>ε</i><sub>c</sub> = 0.5, <i>ε</i><sub>LM</sub> = 2")) << page;
}

TEST(Report, CurvesInCsv) {
  ExperimentResults experiment;
  RunResult a = scored_run(1);
  a.x = {0, 10};
  a.y = {1, 4};
  RunResult b = scored_run(1);
  b.x = {0};
  b.y = {4};
  experiment.panels = {{"p,1", "", "", {method_with("m \"x\"", {a, b})}}};
  EXPECT_EQ(curves_csv(experiment),
            "panel,method,x,mean,std,n,ended\n"
            "\"p,1\",\"m \"\"x\"\"\",0,2.5,2.1213203435596424,2,0\n"
            "\"p,1\",\"m \"\"x\"\"\",10,4,0,2,1\n");
  experiment.metric.log_scale = true;
  const auto lines = lines_of(curves_csv(experiment));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "panel,method,x,mean,std,n,ended,geometric_mean,log10_std");
  EXPECT_TRUE(contains(lines[1], ",2,0,2,0.4257")) << lines[1];
}

TEST(Report, HostileNamesStayNames) {
  const ScratchFolder folder;
  const WrittenReport written = write_report({hostile_experiment(), hostile_experiment()}, folder / "r");
  EXPECT_EQ(written.warnings, std::vector<std::string>{});
  EXPECT_EQ(folder.files(), std::vector<std::string>{"r"}) << "nothing is written outside";
  EXPECT_FALSE(fs::exists("pwned")) << "no text is ever a command";
  EXPECT_EQ(written.files.size(), 2U + 2 * 6U) << "the same name twice";
  for (const fs::path& file : written.files) {
    EXPECT_EQ(file.filename().string().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."), std::string::npos);
    EXPECT_TRUE(fs::exists(file));
    EXPECT_FALSE(fs::exists(file.parent_path() / "pwned"));
  }

  const std::string html = content_of(folder / "r" / "report.html");
  expect_sound_page(html);
  const Markup page = read_markup(html);
  EXPECT_EQ(count(html, "<script"), 1U);
  EXPECT_GT(count(page.text, clean_text(hostile_text())), 20U) << "and can be read";
  for (const fs::path& file : written.files) {
    if (file.extension() != ".svg") continue;
    const Markup svg = read_markup(content_of(file));
    EXPECT_EQ(svg.faults, std::vector<std::string>{});
    EXPECT_TRUE(contains(svg.text, clean_text(hostile_text()))) << "the title has room for it";
    EXPECT_TRUE(std::ranges::none_of(svg.elements, [](const Element& e) { return e.name == "script"; }));
  }
  const Json summary = Json::parse(content_of(folder / "r" / "summary.json"));
  EXPECT_TRUE(contains(summary["experiments"][0]["title"], "</title><script>alert('x')</script> \"q\" \\n {_a^b}"));
}

// The positions of `mark` with no backslash before.
std::size_t unescaped(const std::string& text, char mark) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == mark) {
      ++n;
    }
  }
  return n;
}

TEST(Report, HostileNamesDoNotBreakTables) {
  const ExperimentResults experiment = hostile_experiment();
  const std::size_t columns = result_header(experiment).size();
  std::size_t rows = 0;
  for (const std::string& line : lines_of(markdown_tables(experiment))) {
    EXPECT_EQ(unescaped(line, '<') + unescaped(line, '`') + unescaped(line, '$'), 0U) << line;
    if (!line.starts_with("|")) continue;
    const std::size_t bars = unescaped(line, '|');
    EXPECT_TRUE(bars == columns + 1 || bars == 4) << line;
    rows += bars == columns + 1 ? 1 : 0;
  }
  EXPECT_EQ(rows, 2 * (2 + 3U));

  std::string uncommented;
  for (const std::string& line : lines_of(latex_table(experiment))) {
    if (line.starts_with("%")) continue;
    uncommented += line + "\n";
    EXPECT_EQ(unescaped(line, '%') + unescaped(line, '#') + unescaped(line, '_') + unescaped(line, '^'), 0U) << line;
    if (line.ends_with("\\\\") && !line.starts_with("\\multicolumn")) {
      EXPECT_EQ(unescaped(line, '&'), columns - 1) << line;
    }
  }
  EXPECT_EQ(unescaped(uncommented, '{'), unescaped(uncommented, '}'));
  EXPECT_EQ(unescaped(uncommented, '$') % 2, 0U);
}

TEST(Escape, EveryOutputHasItsOwnWay) {
  EXPECT_EQ(html_text("<a b=\"c\" d='e'> & é"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt; &amp; é");
  EXPECT_EQ(latex_text("50% of $x_1 & {a}^2 ~ \\ #"),
            "50\\% of \\$x\\_1 \\& \\{a\\}\\textasciicircum{}2 \\textasciitilde{} \\textbackslash{} \\#");
  EXPECT_EQ(latex_text("*[a] ±"), "{*}{[}a{]} $\\pm$");
  EXPECT_EQ(markdown_text("a|b_c*d `e` <f>"), "a\\|b\\_c\\*d \\`e\\` &lt;f&gt;");
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\"\n"), "\"a,\"\"b\"\" \"");
  for (const char* formula : {"=1+1", "+a", "-1+cmd|' /C calc'!A0", "@SUM(A1)"}) {
    EXPECT_EQ(csv_field(formula), "'" + std::string(formula));
    EXPECT_EQ(csv_bytes(formula), "'" + std::string(formula));
  }
  EXPECT_EQ(csv_bytes("\t=1"), "'\t=1");
  EXPECT_EQ(csv_bytes("=a,b"), "\"'=a,b\"");
  EXPECT_EQ(csv_bytes("\x1b\n"), "\"\x1b\n\"") << "every byte stays";
  for (const char* number : {"-1", "+1", "-1.5e-7", "-inf", "a=b", "", "'a"}) EXPECT_EQ(csv_field(number), number);
  EXPECT_EQ(gnuplot_text("it's \\n"), "'it''s \\n'");
  EXPECT_EQ(slug("../Frozen Lake_2/é"), "frozen-lake-2");
  EXPECT_EQ(slug("é"), "unnamed");
  EXPECT_EQ(slug(std::string(500, 'a')).size(), 80U);
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
}

TEST(Escape, TextIsValidAndOneLineWhateverTheBytes) {
  EXPECT_EQ(clean_text("a\r\nb\tc\x7f"), "a  b c ");
  EXPECT_EQ(clean_text("\xc2\x85|\xed\xa0\x80|\xc0\xaf|\xf5|\xe2\x82"), " |���|��|�|��");
  EXPECT_EQ(clean_text("\xef\xbf\xbf"), "���") << "no character of XML";
  EXPECT_EQ(clean_text("é€😀"), "é€😀");
  RandomStream stream(4, "bytes");
  for (int round = 0; round < 2000; ++round) {
    std::string text(stream.below(12), ' ');
    for (char& c : text) c = static_cast<char>(stream.below(256));
    const std::string clean = clean_text(text);
    EXPECT_EQ(clean_text(clean), clean);
    EXPECT_TRUE(std::ranges::none_of(clean, [](char c) { return c >= 0 && c < 0x20; }));
    EXPECT_NO_THROW(Json(clean).dump()) << "which is strict about UTF-8";
    EXPECT_EQ(read_markup("<p title=\"" + html_text(text) + "\">" + html_text(text) + "</p>").text, clean);
  }
}

TEST(Report, WithoutGnuplotAllElseIsWritten) {
  const ScratchFolder folder;
  const fs::path report = folder / "r";
  fs::create_directory(report);
  put(report / "lqr-curves.pdf", "an earlier figure");
  const WrittenReport written = write_report({lake_experiment(), control_experiment()}, report, "/nowhere/gnuplot");
  ASSERT_EQ(written.warnings.size(), 1U) << "one cause, one line";
  EXPECT_TRUE(contains(written.warnings[0], "'frozen-lake', 'lqr'")) << written.warnings[0];
  EXPECT_TRUE(contains(written.warnings[0], "cannot start '/nowhere/gnuplot'")) << written.warnings[0];
  EXPECT_EQ(written.files.size(), 2U + 2 * 3U);
  EXPECT_EQ(content_of(report / "lqr-curves.pdf"), "an earlier figure");
  const std::string html = content_of(report / "report.html");
  expect_sound_page(html);
  EXPECT_TRUE(contains(html, "cannot start"));
  EXPECT_FALSE(contains(html, "lqr-curves.pdf")) << "it is not of this report";
  EXPECT_TRUE(contains(html, "(2.8 ± 2.2)e-14"));
}

TEST(Report, AGnuplotThatFailsOrDrawsNothingIsNoticed) {
  for (const auto& [program, message] : {std::pair<std::string, std::string>{"/bin/false", "failed"},
                                         {"/bin/true", "drew no SVG"},
                                         {"/bin/echo", "drew no SVG"}}) {
    const ScratchFolder folder;
    const WrittenReport written = write_report({lake_experiment()}, folder / "r", program);
    ASSERT_EQ(written.warnings.size(), 1U);
    EXPECT_TRUE(contains(written.warnings[0], message)) << written.warnings[0];
    EXPECT_TRUE(contains(content_of(folder / "r" / "report.html"), message));
  }
  const GnuplotOutcome wrong = run_gnuplot("gnuplot", "set terminal svg\nplot nonsense(\n");
  EXPECT_TRUE(wrong.output.empty());
  EXPECT_TRUE(contains(wrong.fault, "'gnuplot' failed: ")) << wrong.fault;
}

TEST(Report, WhatCannotBeWrittenIsAnErrorAndNothingIsLost) {
  const ScratchFolder folder;
  put(folder / "file", "precious");
  EXPECT_THROW(write_report({}, folder / "file"), FileError);
  EXPECT_THROW(write_report({}, folder / "file" / "below"), FileError);
  EXPECT_EQ(content_of(folder / "file"), "precious");

  const fs::path report = folder / "r";
  write_report({lake_experiment()}, report);
  const std::string page = content_of(report / "report.html");
  fs::remove(report / "frozen-lake-table.md");
  fs::create_directory(report / "frozen-lake-table.md");
  EXPECT_THROW(write_report({lake_experiment(), control_experiment()}, report), FileError);
  EXPECT_EQ(content_of(report / "report.html"), page);
  for (const auto& file : fs::directory_iterator(report)) {
    EXPECT_FALSE(contains(file.path().string(), ".tmp.")) << file.path();
  }
}

TEST(Report, TheSameResultsGiveTheSamePageAndReplaceTheOldOne) {
  const ScratchFolder folder;
  const fs::path report = folder / "a" / "b";
  write_report({lake_experiment()}, report);
  const std::string page = content_of(report / "report.html");
  put(report / "report.html", "old");
  write_report({lake_experiment()}, report);
  EXPECT_EQ(content_of(report / "report.html"), page);
}

TEST(Report, NothingAtAll) {
  EXPECT_TRUE(contains(text_of_page({}), "There are no results yet."));
  expect_sound_page(page_of({ExperimentResults{}}));
  ExperimentResults no_methods;
  no_methods.panels.resize(2);
  expect_sound_page(page_of({no_methods}));
  ExperimentResults no_runs = control_experiment();
  no_runs.done = 0;
  for (PanelResults& panel : no_runs.panels) {
    for (MethodResults& method : panel.methods) method.runs.clear();
  }
  const std::string html = page_of({no_runs});
  expect_sound_page(html);
  EXPECT_TRUE(contains(html, "There is nothing to draw yet."));
  EXPECT_TRUE(contains(html, "Not finished: 0 of 352 runs are done."));
}

TEST(Report, AllRunsFailed) {
  ExperimentResults experiment = control_experiment();
  for (PanelResults& panel : experiment.panels) {
    for (MethodResults& method : panel.methods) {
      for (SeedResult& run : method.runs) run.result = failed_run(run.seed);
      method.runs[0].result.status = RunStatus::collapsed;
    }
  }
  const std::string text = text_of_page({experiment});
  EXPECT_TRUE(contains(text, "no mean, since 20 of 20 runs have no score."));
  EXPECT_TRUE(contains(text, "seed 1 collapsed at 1, seed 2 diverged at 2"));
  EXPECT_TRUE(contains(text, "and 10 more"));
}

TEST(Report, AnExperimentWithoutFigureHasNone) {
  ExperimentResults experiment = lake_experiment();
  experiment.figures = {};
  const ScratchFolder folder;
  EXPECT_EQ(write_report({experiment}, folder / "r").files.size(), 2U + 3U);
  EXPECT_FALSE(contains(content_of(folder / "r" / "report.html"), "<figure"));
}

TEST(Figure, LogarithmicBandsAreOfLogarithms) {
  ExperimentResults experiment;
  experiment.metric.log_scale = true;
  RunResult a = scored_run(1);
  RunResult b = scored_run(1);
  a.x = b.x = {0, 1, 2};
  a.y = {1, 1e-2, 0};
  b.y = {100, 1e-4, 1};
  experiment.panels = {{"p", "P", "", {method_with("m", {a, b})}}};
  const auto panels = curve_figure(experiment).panels;
  ASSERT_EQ(panels.size(), 1U);
  ASSERT_EQ(panels[0].lines.size(), 1U);
  const auto& points = panels[0].lines[0].points;
  ASSERT_EQ(points.size(), 2U) << "zero has no logarithm";
  EXPECT_TRUE(contains(panels[0].remarks.at(0), "1 points are not drawn"));
  EXPECT_NEAR(points[0].y, 10, 1e-9);
  EXPECT_NEAR(points[0].band->second / points[0].y, points[0].y / points[0].band->first, 1e-9);
  EXPECT_NEAR(std::log10(points[1].band->second / points[1].y), std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(points[1].y, 1e-3, 1e-12);
}

TEST(Figure, SaysWhichRunsAreCarriedOnOrLeftOut) {
  ExperimentResults experiment;
  RunResult a = scored_run(1);
  RunResult b = scored_run(1);
  a.x = {0, 1, 2};
  a.y = {4, 2, 1};
  b.x = {0, 1};
  b.y = {4, 4};
  experiment.panels = {{"p", "P", "", {method_with("m", {a, b})}}};
  Figure figure = curve_figure(experiment);
  EXPECT_TRUE(contains(figure.caption, "A run that ends before others keeps its last value"));
  EXPECT_EQ(figure.panels[0].lines[0].points[2].y, 2.5) << "the mean of both";
  ASSERT_EQ(figure.panels[0].remarks.size(), 1U);
  EXPECT_TRUE(contains(figure.panels[0].remarks[0], "keep their last value"));
  b.status = RunStatus::diverged;
  b.score = {};
  experiment.panels = {{"p", "P", "", {method_with("m", {a, b})}}};
  figure = curve_figure(experiment);
  EXPECT_EQ(figure.panels[0].lines[0].points[2].y, 1);
  EXPECT_EQ(figure.panels[0].lines[0].remark, "1 of 2 failed");
  ASSERT_EQ(figure.panels[0].remarks.size(), 1U);
  EXPECT_TRUE(contains(figure.panels[0].remarks[0], "not part of the lines"));
}

// An experiment whose runs have both curves.
ExperimentResults validated_experiment() {
  ExperimentResults experiment;
  experiment.name = "both";
  experiment.metric = {"accuracy", true, false};
  RunResult run = scored_run(0.7);
  run.x = {0, 1};
  run.y = {0.5, 0.7};
  run.validation_y = {0.6, 0.9};
  experiment.panels = {{"p", "P", "", {method_with("m", {run})}}};
  return experiment;
}

TEST(Figure, TestAndValidationCurvesAreLabelled) {
  ExperimentResults experiment = validated_experiment();
  for (const auto* label : {"accuracy", "test accuracy"}) {
    experiment.metric.label = label;
    const Figure test = curve_figure(experiment);
    EXPECT_EQ(test.y_label, "test accuracy");
    EXPECT_EQ(test.panels[0].lines[0].points[1].y, 0.7) << "what the table has";
    const Figure validation = curve_figure(experiment, CurvePart::validation);
    EXPECT_EQ(validation.y_label, "validation accuracy");
    EXPECT_EQ(validation.panels[0].lines[0].points[1].y, 0.9);
    EXPECT_NE(validation.name, test.name);
  }
  EXPECT_EQ(rate_figure(experiment).y_label, "test accuracy") << "whatever the rates were chosen by";
  experiment.metric.label = "validation accuracy";
  EXPECT_EQ(curve_figure(experiment).y_label, "validation accuracy") << "as the experiment says";
  EXPECT_EQ(curve_figure(lake_experiment()).y_label, "episode return") << "there is nothing to tell apart";
  EXPECT_EQ(curves_csv(experiment, CurvePart::validation),
            "panel,method,x,mean,std,n,ended\np,m,0,0.6,,1,0\n"
            "p,m,1,0.9,,1,0\n");
}

TEST(Figure, ARunOfAnEarlierVersionHasNoTestCurve) {
  ExperimentResults experiment = validated_experiment();
  RunResult old = experiment.panels[0].methods[0].runs[0].result;
  old.y.clear();
  old.validation_y = {0.2, 0.3};
  MethodResults& method = experiment.panels[0].methods[0];
  method.runs.push_back({2, old, 0.5});
  const Figure mixed = curve_figure(experiment);
  EXPECT_EQ(mixed.panels[0].lines[0].points[1].y, 0.7) << "a validation curve is no part of it";
  EXPECT_TRUE(contains(mixed.panels[0].remarks.at(0), "1 runs are not part of the lines"));
  method.runs.erase(method.runs.begin());
  const ScratchFolder folder;
  write_report({experiment}, folder / "r");
  const std::string page = content_of(folder / "r" / "report.html");
  EXPECT_TRUE(contains(page, "Learning curves on the validation samples"));
  EXPECT_TRUE(contains(page, "There are no curves of the test samples"));
  EXPECT_FALSE(contains(page, "Learning curves on the test samples"));
}

TEST(Figure, LinesKeepTheirStyleAcrossPanels) {
  ExperimentResults experiment = lake_experiment();
  experiment.panels[1].methods.erase(experiment.panels[1].methods.begin());
  const auto panels = curve_figure(experiment).panels;
  EXPECT_EQ(panels[0].lines[1].name, panels[1].lines[0].name);
  EXPECT_EQ(panels[0].lines[1].style, panels[1].lines[0].style);
}

TEST(Figure, EveryPartOfADrawingBelongsToTheLineOfItsKey) {
  const ScratchFolder folder;
  ExperimentResults experiment = lake_experiment();
  experiment.panels[0].methods.push_back(method_with("unknown <b>", {scored_run(1)}));
  experiment.panels[0].methods.back().runs[0].result.x = {5};
  experiment.panels[0].methods.back().runs[0].result.y = {0.5};
  const std::string html = page_of({experiment});
  expect_sound_page(html);
  const Markup page = read_markup(html);
  const auto ids = values_of(page, "id");
  std::vector<std::string> parts;
  for (const std::string& list : values_of(page, "data-parts")) {
    EXPECT_FALSE(list.empty());
    std::istringstream words(list);
    for (std::string id; words >> id;) parts.push_back(id);
  }
  for (const std::string& id : parts) EXPECT_EQ(std::ranges::count(ids, id), 1) << id;
  const auto drawn = std::ranges::count_if(ids, [](const std::string& id) { return contains(id, "gnuplot_plot_"); });
  EXPECT_EQ(static_cast<std::ptrdiff_t>(parts.size()), drawn) << "and none without a line";
  const auto points = values_of(page, "data-points");
  ASSERT_EQ(points.size(), 7U);
  EXPECT_EQ(Json::parse(points[3]), Json::parse("[[5,0.5]]"));
  const Json line = Json::parse(points[1]);
  const FigureLine drawn_line = curve_figure(experiment).panels[0].lines[1];
  ASSERT_EQ(line.size(), drawn_line.points.size());
  EXPECT_NEAR(line.back().at(1), drawn_line.points.back().y, 1e-3);
  EXPECT_NEAR(line.back().at(2), drawn_line.points.back().band->first, 1e-3);
  const Json frame = Json::parse(values_of(page, "data-frame").at(0));
  EXPECT_LT(frame.at("left"), frame.at("right"));
}

TEST(Figure, BandsEndAtTheEdgeOfThePanel) {
  Figure figure;
  FigurePanel panel;
  panel.high_x = 4;
  panel.low_y = 1;
  panel.high_y = 2;
  FigureLine line{"l", "", {"#000000", "", Mark::nothing}, {}};
  line.points = {{0, 1.5, {{1.25, 1.75}}}, {2, 3, {{2.25, 3.75}}}, {4, 0, {{-1, 1.5}}}};
  panel.lines = {line};
  const std::string script = panel_script(figure, panel);
  const std::size_t start = script.find("$band0 << EOD\n");
  ASSERT_NE(start, std::string::npos);
  std::istringstream block(script.substr(start + 14));
  std::vector<std::array<double, 3>> points;
  for (std::array<double, 3> p{}; block >> p[0] >> p[1] >> p[2];) points.push_back(p);
  ASSERT_EQ(points.size(), 3U + 2 + 3) << "each crossing of an edge and a border is a point";
  EXPECT_NEAR(points[1][0], 0.25, 1e-6) << "the upper edge leaves";
  EXPECT_NEAR(points[1][1], 1.375, 1e-6) << "the lower one is still inside";
  EXPECT_NEAR(points[1][2], 2, 1e-6);
  for (const auto& point : points) {
    EXPECT_GE(point[1], 1);
    EXPECT_LE(point[2], 2);
  }
  panel.log_y = true;
  EXPECT_EQ(run_gnuplot("gnuplot", panel_script(figure, panel)).fault, "") << "below zero there is no logarithm";
}

TEST(Figure, DrawingsHaveTheirAxesWhereTheScriptLooksForThem) {
  ExperimentResults experiment = lake_experiment();
  const Figure figure = curve_figure(experiment);
  const auto [svg, fault] = run_gnuplot("gnuplot", panel_script(figure, figure.panels[0]));
  ASSERT_EQ(fault, "");
  EXPECT_TRUE(contains(svg, "viewBox=\"0 0 420 290\""));
  double left = 0, top = 0;
  const auto lines = plotted_lines(figure, figure.panels[0]);
  std::size_t drawn = 3;  // after three bands
  while (lines.at(drawn) != 0) ++drawn;
  const std::size_t line = svg.find(fmt::format("<g id=\"gnuplot_plot_{}\"", drawn + 1));
  const std::size_t start = svg.find(" d='M", line);
  ASSERT_NE(start, std::string::npos);
  ASSERT_EQ(std::sscanf(svg.c_str() + start, " d='M%lf,%lf", &left, &top), 2);
  const FigurePanel& panel = figure.panels[0];
  const FigurePoint& point = panel.lines[0].points[0];
  const double across = (point.x - panel.low_x) / (panel.high_x - panel.low_x);
  const double up = (point.y - panel.low_y) / (panel.high_y - panel.low_y);
  EXPECT_NEAR(left, PanelFrame::left + across * (PanelFrame::right - PanelFrame::left), 0.6);
  EXPECT_NEAR(top, PanelFrame::bottom - up * (PanelFrame::bottom - PanelFrame::top), 0.6);
}

TEST(Figure, LongCurvesAreThinnedButKeepTheirEnds) {
  ExperimentResults experiment;
  RunResult run = scored_run(1);
  for (int k = 0; k < 12345; ++k) {
    run.x.push_back(k);
    run.y.push_back(std::sin(k));
  }
  experiment.panels = {{"p", "P", "", {method_with("m", {run})}}};
  const auto panels = curve_figure(experiment).panels;
  const auto& points = panels[0].lines[0].points;
  EXPECT_EQ(points.size(), 400U);
  EXPECT_EQ(points.front().x, 0);
  EXPECT_EQ(points.back().x, 12344);
  EXPECT_FALSE(panels[0].remarks.empty());
}

TEST(Figure, ALineWithFailuresDoesNotHideTheOthers) {
  ExperimentResults experiment = lake_experiment();
  MethodResults& wild = experiment.panels[0].methods[0];
  for (SeedResult& run : wild.runs) {
    run.result.status = RunStatus::diverged;
    run.result.y.back() = 1e9;
  }
  const auto panels = curve_figure(experiment).panels;
  EXPECT_LT(panels[0].high_y, 2);
  EXPECT_TRUE(contains(panels[0].remarks.at(0), "leave the panel"));
}

TEST(Figure, ASpikeOnTheWayDoesNotHideTheRest) {
  ExperimentResults experiment = lake_experiment();
  const double usual = curve_figure(experiment).panels[0].high_y;
  for (SeedResult& run : experiment.panels[0].methods[0].runs) run.result.y.at(run.result.y.size() / 4) = 1e3;
  const auto panels = curve_figure(experiment).panels;
  EXPECT_NEAR(panels[0].high_y, usual, 0.2);
  EXPECT_TRUE(contains(panels[0].remarks.at(0), "leave the panel for a while"));
  for (SeedResult& run : experiment.panels[0].methods[0].runs) run.result.y.back() = 1e3;
  EXPECT_GT(curve_figure(experiment).panels[0].high_y, 500) << "where it ends is shown";
}

// The search of a method over 1e-3, 1e-2, ..., each rate with the given scores.
MethodResults searched(const std::string& name, const std::vector<std::vector<double>>& scores) {
  MethodResults method;
  method.name = name;
  double rate = 1e-3;
  for (const auto& at_rate : scores) {
    method.search.push_back({rate, at_rate.size(), at_rate.size(), 0, {}, at_rate});
    rate *= 10;
  }
  return method;
}

TEST(Figure, OfRatesHasTheSettingThatWasChosen) {
  ExperimentResults experiment;
  experiment.metric.label = "error";
  MethodResults method = searched("m", {{1}, {2}, {3}, {4}});
  for (std::size_t k = 0; k < 4; ++k) method.search[k].setting = k < 2 ? "lambda 1" : "lambda 2";
  method.setting = "lambda 2";
  method.rate = method.search[2].rate;
  experiment.panels = {{"p", "P", "", {method}}};
  const Figure figure = rate_figure(experiment);
  ASSERT_EQ(figure.panels[0].lines[0].points.size(), 2U);
  EXPECT_EQ(figure.panels[0].lines[0].points[0].y, 3);
  EXPECT_TRUE(contains(rates_csv(experiment), "p,m,lambda 2,"));
  EXPECT_TRUE(contains(markdown_tables(experiment), ", lambda 2"));
}

// Rows of a step log: the number of steps, then five quantiles of each of four quantities.
RunResult run_with_steps(double factor, std::size_t intervals) {
  RunResult run = scored_run(1);
  for (std::size_t k = 1; k <= intervals; ++k) {
    run.steps.push_back(static_cast<double>(100 * k));
    for (double quantity = 1; quantity <= 4; ++quantity) {
      for (const double level : {0.1, 0.5, 1.0, 2.0, 10.0}) run.steps.push_back(factor * quantity * level);
    }
  }
  return run;
}

TEST(Figure, OfStepsHasMediansAndQuantilesForEachQuantity) {
  ExperimentResults experiment;
  experiment.panels = {
      {"p",
       "P",
       "",
       {method_with("A", {run_with_steps(4, 2), run_with_steps(1, 3)}), method_with("B", {scored_run(1)})}}};
  const auto figures = figures_of(FigureKind::steps, experiment);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].panels.size(), 4U);
  for (std::size_t quantity = 0; quantity < 4; ++quantity) {
    const FigurePanel& panel = figures[0].panels[quantity];
    ASSERT_EQ(panel.lines.size(), 1U) << "B recorded no steps";
    const auto& points = panel.lines[0].points;
    ASSERT_EQ(points.size(), 3U);
    const double whole = static_cast<double>(quantity + 1);
    EXPECT_EQ(points[0].x, 100);
    EXPECT_NEAR(points[0].y, 2 * whole, 1e-12) << "the geometric mean of 1 and 4";
    EXPECT_NEAR(points[0].band->first, 0.2 * whole, 1e-12);
    EXPECT_NEAR(points[0].band->second, 20 * whole, 1e-12);
    EXPECT_NEAR(points[2].y, whole, 1e-12) << "the one run that goes so far";
  }
}

TEST(Figure, OverSecondsStretchesEachLineByItsOwnTime) {
  ExperimentResults experiment;
  experiment.metric.label = "error";
  const auto timed = [](const char* name, const std::vector<double>& seconds) {
    std::vector<RunResult> runs;
    for (const double each : seconds) {
      RunResult run = scored_run(0.5);
      run.x = {0, 1, 2};
      run.y = {3, 2, 1};
      run.extras = {{seconds_column, each}};
      runs.push_back(run);
    }
    return method_with(name, runs);
  };
  RunResult untimed = scored_run(0.5);
  untimed.x = {0, 1, 2};
  untimed.y = {3, 2, 1};
  experiment.panels = {
      {"p", "P", "", {timed("slow", {2, 30, 3}), timed("fast", {0.5}), method_with("not", {untimed})}}};
  const Figure figure = seconds_figure(experiment);
  const auto& lines = figure.panels[0].lines;
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].points.back().x, 6) << "the median, whatever disturbed one of them";
  EXPECT_EQ(lines[1].points.back().x, 1);
  EXPECT_EQ(lines[1].points.back().y, 1);
  EXPECT_EQ(curve_figure(experiment).panels[0].lines.size(), 3U);
}

TEST(Figure, RatesAreThoseWhereNothingFailed) {
  ExperimentResults experiment;
  experiment.metric.label = "error";
  MethodResults method = searched("m", {{1, 3}, {0.5, 0.5}, {7}, {9, 9}});
  method.search[2].planned = 2;
  method.search[2].done = 2;
  method.search[2].failed = 1;
  method.search[3].planned = 3;
  MethodResults baseline = method_with("baseline", {scored_run(0.7), scored_run(0.9)});
  baseline.rate = 0;
  MethodResults given = method_with("given", {scored_run(0.6)});
  given.rate = 0.1;
  experiment.panels = {{"p", "P", "", {method, baseline, given}}};
  const Figure figure = rate_figure(experiment);
  ASSERT_EQ(figure.panels.size(), 1U);
  const FigurePanel& panel = figure.panels[0];
  ASSERT_EQ(panel.lines.size(), 3U);
  ASSERT_EQ(panel.lines[2].points.size(), 1U);
  EXPECT_EQ(panel.lines[2].points[0].x, 0.1);
  ASSERT_EQ(panel.lines[0].points.size(), 2U);
  EXPECT_EQ(panel.lines[0].points[0].x, 1e-3);
  EXPECT_EQ(panel.lines[0].points[0].y, 2);
  EXPECT_NEAR(panel.lines[0].points[0].band->second, 2 + std::sqrt(2.0), 1e-12);
  EXPECT_EQ(panel.lines[0].points[1].y, 0.5);
  EXPECT_EQ(panel.lines[0].remark, "fails at 1 of 4 rates");
  ASSERT_EQ(panel.lines[1].points.size(), 2U);
  EXPECT_EQ(panel.lines[1].points[0].x, panel.low_x);
  EXPECT_EQ(panel.lines[1].points[1].x, panel.high_x);
  EXPECT_NEAR(panel.lines[1].points[1].y, 0.8, 1e-12);
  EXPECT_TRUE(contains(figure_script(figure, FigureFormat::svg), "set logscale x"));
  EXPECT_FALSE(contains(figure.caption, "rung"));
  experiment.panels[0].methods[0].search[0].rung = 1;
  EXPECT_TRUE(contains(rate_figure(experiment).caption, "those of different rungs cannot be compared"));
  const auto lines = lines_of(rates_csv(experiment));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2], "p,m,,0.01,0.5,0,2,0,0");
}

TEST(Figure, OfRatesIsDrawnBesideTheCurves) {
  ExperimentResults experiment = lake_experiment();
  experiment.figures = {FigureKind::curves, FigureKind::rates};
  experiment.panels[0].methods.push_back(searched("searched", {{0.1, 0.2}, {0.5, 0.6}}));
  const ScratchFolder folder;
  const WrittenReport written = write_report({experiment}, folder / "r");
  EXPECT_TRUE(written.warnings.empty());
  EXPECT_EQ(written.files.size(), 2U + 3U + 7U);
  const std::string page = content_of(folder / "r" / "report.html");
  EXPECT_TRUE(contains(page, "Learning curves"));
  EXPECT_TRUE(contains(page, "How much depends on the learning rate"));
  EXPECT_TRUE(contains(content_of(folder / "r" / "frozen-lake-rates.svg"), "<svg"));
}

TEST(Figure, InlineDrawingsHaveIdsOfTheirOwn) {
  const std::string svg =
      "<?xml version='1.0'?>\n<svg \n viewBox=\"0 0 4 3\"\n><title>x</title><g id=\"a\"><use xlink:href='#b' "
      "id='b'/><text filter='url(#a)'>id=\"a\" id='b'</text></g></svg>\n";
  const auto drawn = inline_svg(svg, "p-", "a \"label\"");
  ASSERT_TRUE(drawn);
  const Markup markup = read_markup(*drawn);
  EXPECT_EQ(markup.faults, std::vector<std::string>{});
  EXPECT_EQ(values_of(markup, "id"), (std::vector<std::string>{"p-a", "p-b"}));
  EXPECT_EQ(values_of(markup, "xlink:href"), std::vector<std::string>{"#p-b"});
  EXPECT_EQ(values_of(markup, "filter"), std::vector<std::string>{"url(#p-a)"});
  EXPECT_EQ(values_of(markup, "viewBox"), std::vector<std::string>{"0 0 4 3"});
  EXPECT_EQ(markup.text, "id=\"a\" id='b'") << "text is left alone";
  for (const auto* garbage : {"", "<svg", "<svg>", "viewBox=\"", "<svg></svg>", "</svg> viewBox=\"0\" <svg"}) {
    EXPECT_FALSE(inline_svg(garbage, "p", "l")) << garbage;
  }
}

// Results as no experiment gives them: whatever they are, the report is whole.
double odd_number(RandomStream& stream) {
  static const double numbers[] = {
      0, -0.0, 1, -1, 1e-320, 1e300, -1e300, 1e-15, 0.5, 1e308, std::numeric_limits<double>::infinity(), std::nan("")};
  return stream.below(2) == 0 ? stream.normal() : numbers[stream.below(12)];
}

ExperimentResults odd_experiment(RandomStream& stream) {
  ExperimentResults experiment;
  experiment.name = std::string(stream.below(3), 'x');
  experiment.metric = {"m", stream.below(2) == 0, stream.below(2) == 0};
  experiment.planned = stream.below(9);
  experiment.done = stream.below(9);
  experiment.wall_seconds = odd_number(stream);
  experiment.run_seconds = odd_number(stream);
  experiment.extra_columns = {"e"};
  experiment.comparisons = {{"0", "1"}, {"1", "1"}};
  experiment.panels.resize(stream.below(5));
  for (PanelResults& panel : experiment.panels) {
    panel.methods.resize(stream.below(4));
    for (std::size_t m = 0; m < panel.methods.size(); ++m) {
      MethodResults& method = panel.methods[m];
      method.name = std::to_string(m);
      if (stream.below(2) == 0) method.rate = odd_number(stream);
      method.search = {{odd_number(stream), 1, 1, 0, odd_number(stream)}};
      method.runs.resize(stream.below(4));
      for (SeedResult& run : method.runs) {
        run.seed = stream.below(3);
        run.result.status = std::array{RunStatus::finished, RunStatus::diverged, RunStatus::collapsed}[stream.below(3)];
        if (stream.below(3) > 0) run.result.score = odd_number(stream);
        const std::size_t length = stream.below(4);
        for (std::size_t k = 0; k < length; ++k) {
          run.result.x.push_back(stream.below(2) == 0 ? static_cast<double>(k) : odd_number(stream));
          run.result.y.push_back(odd_number(stream));
        }
        run.result.extras = {{"e", odd_number(stream)}};
      }
    }
  }
  return experiment;
}

TEST(Report, OddResultsGiveAWholeReport) {
  RandomStream stream(5, "odd");
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const std::string html = page_of({odd_experiment(stream), odd_experiment(stream)});
    expect_sound_page(html);
    EXPECT_FALSE(contains(html, "nan") || contains(html, ">inf")) << "n/a is how that is written";
  }
  for (int round = 0; round < 100; ++round) {
    expect_sound_page(page_of({odd_experiment(stream)}, "/nowhere/gnuplot"));
  }
}

}  // namespace
}  // namespace ignd
