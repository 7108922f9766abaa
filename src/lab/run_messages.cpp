#include "lab/run_messages.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <variant>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* kind_entry = "message";

void put(Checkpoint& message, const std::string& name, const std::vector<double>& values) {
  message.set(name, std::span<const double>(values));
}

// Of any size.
const std::vector<double>& numbers_in(const Checkpoint& message, const std::string& name) {
  const auto found = message.entries().find(name);
  const auto* const values =
      found == message.entries().end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  if (values == nullptr) throw FileError(fmt::format("a message between ranks has no numbers '{}'", name));
  return *values;
}

double number_at(const Checkpoint& message, const std::string& name) { return message.array<double>(name, 1)[0]; }

void put(Checkpoint& message, const std::string& name, const std::optional<double>& value) {
  put(message, name, value ? std::vector{*value} : std::vector<double>());
}

std::optional<double> optional_in(const Checkpoint& message, const std::string& name) {
  const auto& values = numbers_in(message, name);
  return values.empty() ? std::nullopt : std::optional(values[0]);
}

void put_config(Checkpoint& message, const std::string& prefix, const RunConfig& config) {
  message.set(prefix + "task", config.task);
  message.set(prefix + "rule", config.optimizer.rule);
  message.set(prefix + "transform", config.optimizer.transform);
  put(message, prefix + "rate", std::vector{config.rate});
  message.set(prefix + "seed", config.seed);
}

// Those of many runs are the same: each is written once.
void put_settings(Checkpoint& message, const std::string& prefix, const Settings& settings) {
  for (const auto& [name, value] : settings.values()) message.set(prefix + name, value);
}

Settings settings_in(const Checkpoint& message, const std::string& prefix) {
  std::map<std::string, std::string> settings;
  for (auto entry = message.entries().lower_bound(prefix); entry != message.entries().end(); ++entry) {
    if (!entry->first.starts_with(prefix)) break;
    settings[entry->first.substr(prefix.size())] = message.text(entry->first);
  }
  return Settings(std::move(settings));
}

std::string settings_prefix(std::size_t k) { return fmt::format("settings.{}.", k); }

RunConfig config_in(const Checkpoint& message, const std::string& prefix, Settings settings) {
  return {.task = message.text(prefix + "task"),
          .settings = std::move(settings),
          .optimizer = {message.text(prefix + "rule"), message.text(prefix + "transform")},
          .rate = number_at(message, prefix + "rate"),
          .seed = message.number(prefix + "seed")};
}

// Numbers and matrices by name, in their order.
void put_extras(Checkpoint& message, const std::string& prefix, const RunResult& result) {
  message.set(prefix + "extras", std::uint64_t{result.extras.size()});
  for (std::size_t i = 0; i < result.extras.size(); ++i) {
    message.set(fmt::format("{}extra.{}.name", prefix, i), result.extras[i].first);
    put(message, fmt::format("{}extra.{}", prefix, i), std::vector{result.extras[i].second});
  }
  message.set(prefix + "matrices", std::uint64_t{result.matrices.size()});
  for (std::size_t i = 0; i < result.matrices.size(); ++i) {
    const auto& [name, rows] = result.matrices[i];
    const std::string matrix = fmt::format("{}matrix.{}.", prefix, i);
    message.set(matrix + "name", name);
    message.set(matrix + "rows", std::uint64_t{rows.size()});
    for (std::size_t r = 0; r < rows.size(); ++r) put(message, matrix + std::to_string(r), rows[r]);
  }
}

void read_extras(const Checkpoint& message, const std::string& prefix, RunResult& result) {
  const std::uint64_t extras = message.number(prefix + "extras");
  for (std::uint64_t i = 0; i < extras; ++i) {
    result.extras.emplace_back(message.text(fmt::format("{}extra.{}.name", prefix, i)),
                               number_at(message, fmt::format("{}extra.{}", prefix, i)));
  }
  const std::uint64_t matrices = message.number(prefix + "matrices");
  for (std::uint64_t i = 0; i < matrices; ++i) {
    const std::string matrix = fmt::format("{}matrix.{}.", prefix, i);
    const std::uint64_t rows = message.number(matrix + "rows");
    result.matrices.emplace_back(message.text(matrix + "name"), MatrixRows());
    for (std::uint64_t r = 0; r < rows; ++r) {
      result.matrices.back().second.push_back(numbers_in(message, matrix + std::to_string(r)));
    }
  }
}

}  // namespace

Checkpoint new_message(RunMessage kind) {
  Checkpoint message;
  message.set(kind_entry, static_cast<std::uint64_t>(kind));
  return message;
}

RunMessage kind_of_message(const Checkpoint& message) { return static_cast<RunMessage>(message.number(kind_entry)); }

void put_groups(Checkpoint& message, const std::vector<RunGroup>& groups) {
  std::uint64_t runs = 0;
  std::vector<const Settings*> written;
  const auto place_of = [&](const Settings& settings) {
    const auto known = std::ranges::find_if(written, [&](const Settings* one) { return *one == settings; });
    if (known != written.end()) return static_cast<std::uint64_t>(known - written.begin());
    put_settings(message, settings_prefix(written.size()), settings);
    written.push_back(&settings);
    return std::uint64_t{written.size() - 1};
  };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const PlannedRun& run : groups[g]) {
      const std::string prefix = fmt::format("{}.", runs++);
      put_config(message, prefix, *run.config);
      message.set(prefix + "settings", place_of(run.config->settings));
      message.set(prefix + "group", std::uint64_t{g});
      message.set(prefix + "number", std::uint64_t{run.number});
      put(message, prefix + "cost", std::vector{run.cost});
      message.set(prefix + "unfinished", run.unfinished.string());
    }
  }
  message.set("runs", runs);
  message.set("all-settings", std::uint64_t{written.size()});
}

std::vector<ReceivedRun> runs_in(const Checkpoint& message) {
  std::vector<Settings> settings(message.number("all-settings"));
  for (std::size_t k = 0; k < settings.size(); ++k) settings[k] = settings_in(message, settings_prefix(k));
  std::vector<ReceivedRun> runs(message.number("runs"));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string prefix = fmt::format("{}.", i);
    runs[i] = {.config = config_in(message, prefix, settings.at(message.number(prefix + "settings"))),
               .group = message.number(prefix + "group"),
               .number = message.number(prefix + "number"),
               .cost = number_at(message, prefix + "cost"),
               .unfinished = message.text(prefix + "unfinished")};
  }
  return runs;
}

void put_results(Checkpoint& message, const std::vector<FinishedRun>& results) {
  message.set("results", std::uint64_t{results.size()});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& [number, result, seconds, host] = results[i];
    const std::string prefix = fmt::format("{}.", i);
    message.set(prefix + "number", std::uint64_t{number});
    message.set(prefix + "host", host);
    put(message, prefix + "seconds", std::vector{seconds});
    message.set(prefix + "status", std::string(to_string(result.status)));
    message.set(prefix + "failed-at", result.failed_at);
    put(message, prefix + "score", result.score);
    put(message, prefix + "validation", result.validation);
    put(message, prefix + "x", result.x);
    put(message, prefix + "y", result.y);
    put(message, prefix + "validation-y", result.validation_y);
    put(message, prefix + "steps", result.steps);
    put_extras(message, prefix, result);
  }
}

std::vector<FinishedRun> results_in(const Checkpoint& message) {
  std::vector<FinishedRun> results(message.number("results"));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string prefix = fmt::format("{}.", i);
    FinishedRun& run = results[i];
    run.number = message.number(prefix + "number");
    run.host = message.text(prefix + "host");
    run.seconds = number_at(message, prefix + "seconds");
    const auto status = parse_run_status(message.text(prefix + "status"));
    if (!status) throw FileError("a message between ranks has an unknown status");
    run.result.status = *status;
    run.result.failed_at = message.number(prefix + "failed-at");
    run.result.score = optional_in(message, prefix + "score");
    run.result.validation = optional_in(message, prefix + "validation");
    run.result.x = numbers_in(message, prefix + "x");
    run.result.y = numbers_in(message, prefix + "y");
    run.result.validation_y = numbers_in(message, prefix + "validation-y");
    run.result.steps = numbers_in(message, prefix + "steps");
    read_extras(message, prefix, run.result);
  }
  return results;
}

void put_state(Checkpoint& message, const RankState& state) {
  const std::array<std::uint64_t, 5> counts{state.idle, state.waiting, state.received, state.stopped ? 1U : 0U,
                                            state.ended ? 1U : 0U};
  message.set("state.counts", std::span<const std::uint64_t>(counts));
  const std::array<double, 2> shares{state.under_way, state.resumed};
  message.set("state.shares", std::span<const double>(shares));
}

RankState state_in(const Checkpoint& message) {
  const auto& counts = message.array<std::uint64_t>("state.counts", 5);
  const auto& shares = message.array<double>("state.shares", 2);
  return {.idle = counts[0],
          .waiting = counts[1],
          .received = counts[2],
          .under_way = shares[0],
          .resumed = shares[1],
          .stopped = counts[3] != 0,
          .ended = counts[4] != 0};
}

}  // namespace ignd
