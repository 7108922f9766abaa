// The progressive loss of StreamLearner on made-up streams: how its defaults were chosen (docs/defaults.md).
//   build/release/bin/stream_defaults ROWS FIRST_SEED SEEDS STREAM[,STREAM...] [SETTING...]
// A setting is "default", or KEY=TEXT pairs with ';' between them, of the keys rule, schedule, metric, centre, scale
// and offset (the last two of the targets). Prints the mean over the seeds, or with one setting all of them.
//   build/release/bin/stream_defaults --write ROWS SEED STREAM > FILE
// writes a stream as Vowpal Wabbit's text; the labels of classes are -1 and 1 there.
#include "base/text.hpp"
#include "learn/stream_learner.hpp"
#include "stream_scenarios.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

struct Setting {
  ignd::StreamOptions options;
  double scale = 1;
  double offset = 0;
};

Setting parse_setting(const std::string& text) {
  Setting setting;
  if (text == "default") return setting;
  for (const std::string& pair : split(text, ';')) {
    const std::string key = pair.substr(0, pair.find('='));
    const std::string value = pair.substr(std::min(key.size() + 1, pair.size()));
    if (key == "rule") {
      setting.options.optimizer.rule = value;
    } else if (key == "schedule") {
      setting.options.schedule = ignd::Schedule::parse(value);
    } else if (key == "metric") {
      setting.options.preconditioner =
          value == "fading" ? ignd::PreconditionerKind::fading_second_moment : ignd::PreconditionerKind::second_moment;
    } else if (key == "centre") {
      setting.options.centre = value == "1";
    } else if (key == "scale") {
      setting.scale = ignd::parse_number(value, key);
    } else if (key == "offset") {
      setting.offset = ignd::parse_number(value, key);
    } else {
      throw ignd::InvalidArgument("unknown key '" + key + "'");
    }
  }
  return setting;
}

double progressive_loss(const Setting& setting, ignd::ExampleBlock block) {
  for (double& y : block.target) y = y * setting.scale + setting.offset;
  ignd::StreamLearner learner(setting.options);
  learner.learn(block);
  learner.finish();
  return learner.statistics().average_loss().value();
}

void write_vw(const ignd::ExampleBlock& block) {
  const bool classes = std::ranges::all_of(block.target, [](double y) { return y == 0 || y == 1; });
  std::string line;
  for (std::size_t row = 0; row < block.size(); ++row) {
    const double y = block.target[row];
    line = ignd::format_number(classes ? 2 * y - 1 : y) + " |";
    for (std::size_t k = block.begin_of(row); k < block.end[row]; ++k) {
      line += fmt::format(" {}:{}", block.index[k], block.value[k]);
    }
    std::puts(line.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5 && std::string(argv[1]) == "--write") {
      write_vw(
          ignd::bench::make_stream(argv[4], ignd::parse_count(argv[3], "seed"), ignd::parse_count(argv[2], "rows")));
      return 0;
    }
    if (argc < 5) throw ignd::InvalidArgument("usage: stream_defaults ROWS FIRST_SEED SEEDS STREAMS [SETTING...]");
    const auto rows = ignd::parse_count(argv[1], "rows");
    const auto first = ignd::parse_count(argv[2], "first seed");
    const auto seeds = ignd::parse_count(argv[3], "seeds");
    std::vector<std::string> settings(argv + 5, argv + argc);
    if (settings.empty()) settings.emplace_back("default");
    for (const std::string& stream : split(argv[4], ',')) {
      std::vector<double> sum(settings.size());
      std::printf("%-16s", stream.c_str());
      for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const auto block = ignd::bench::make_stream(stream, seed, rows);
        for (std::size_t k = 0; k < settings.size(); ++k) {
          const double loss = progressive_loss(parse_setting(settings[k]), block);
          sum[k] += loss;
          if (settings.size() == 1) std::printf(" %8.5g", loss);
        }
      }
      if (settings.size() > 1) {
        for (const double total : sum) std::printf(" %8.5g", total / static_cast<double>(seeds));
      }
      std::printf("\n");
    }
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "stream_defaults: %s\n", fault.what());
    return 1;
  }
}
