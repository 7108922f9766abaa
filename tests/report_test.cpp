#include "report/report.hpp"
#include "made_up_results.hpp"
#include "scratch_folder.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace ignd {
namespace {
using namespace testing;
TEST(Report, Demonstration) {
  const char* folder = std::getenv("IGND_REPORT_DEMO");
  if (!folder) GTEST_SKIP();
  const auto w = write_report({lake_experiment(), control_experiment(), half_finished_preview(), hostile_experiment()}, folder);
  for (auto& x : w.warnings) puts(x.c_str());
}
}
}
