#include "learn/model_facts.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/version.hpp"

#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

constexpr const char* count_entry = "facts.scored";

std::string entry(std::size_t k, const char* what) { return fmt::format("facts.scored.{}.{}", k, what); }

}  // namespace

std::string name_of_data(const std::string& path) {
  if (path == "-") return path;
  std::error_code fault;
  fs::path place = fs::path(path).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // of a folder with a slash behind
  if (place.empty() || place == "." || place.filename() == "..") place = fs::weakly_canonical(path, fault);
  return place.filename().string();
}

void ModelFacts::save(Checkpoint& checkpoint) const {
  checkpoint.set("facts.version", version);
  checkpoint.set("facts.command", command);
  checkpoint.set("facts.data", data);
  checkpoint.set("facts.sha256", sha256);
  checkpoint.set("facts.fingerprint", fingerprint);
  checkpoint.set("facts.seed", seed);
  const std::vector<std::uint64_t> samples{train, validation, test};
  checkpoint.set("facts.samples", std::span<const std::uint64_t>(samples));
  checkpoint.set(count_entry, std::uint64_t{scored.size()});
  for (std::size_t k = 0; k < scored.size(); ++k) {
    checkpoint.set(entry(k, "part"), scored[k].part);
    checkpoint.set(entry(k, "predictor"), scored[k].predictor);
    std::vector<std::string> names;
    std::vector<double> values;
    for (const auto& [name, value] : scored[k].scores) {
      if (!std::isfinite(value)) continue;
      names.push_back(name);
      values.push_back(value);
    }
    checkpoint.set(entry(k, "names"), join(names, " "));
    checkpoint.set(entry(k, "values"), std::span<const double>(values));
  }
}

std::optional<ModelFacts> ModelFacts::load(const Checkpoint& checkpoint) {
  if (!checkpoint.has("facts.version")) return std::nullopt;
  ModelFacts facts{.version = checkpoint.text("facts.version"),
                   .command = checkpoint.text("facts.command"),
                   .data = checkpoint.text("facts.data"),
                   .sha256 = checkpoint.text("facts.sha256"),
                   .fingerprint = checkpoint.number("facts.fingerprint"),
                   .seed = checkpoint.number("facts.seed")};
  const auto& samples = checkpoint.array<std::uint64_t>("facts.samples", 3);
  facts.train = samples[0], facts.validation = samples[1], facts.test = samples[2];
  const std::uint64_t count = checkpoint.number(count_entry);
  for (std::size_t k = 0; k < count; ++k) {
    Scored& made = facts.scored.emplace_back();
    made.part = checkpoint.text(entry(k, "part"));
    made.predictor = checkpoint.text(entry(k, "predictor"));
    const std::string& text = checkpoint.text(entry(k, "names"));
    const auto names = text.empty() ? std::vector<std::string_view>() : split(text, ' ');
    const auto& values = checkpoint.array<double>(entry(k, "values"), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) made.scores.emplace_back(names[i], values[i]);
  }
  return facts;
}

ModelFacts facts_of(const RunSpec& spec, std::string command, const Dataset& dataset) {
  ModelFacts facts{.version = version(),
                   .command = std::move(command),
                   .data = name_of_data(spec.data.path),
                   .fingerprint = dataset.fingerprint(),
                   .seed = spec.training.seed,
                   .train = dataset.split().train.size(),
                   .validation = dataset.split().validation.size(),
                   .test = dataset.split().test.size()};
  std::error_code fault;
  if (fs::is_regular_file(spec.data.path, fault)) facts.sha256 = sha256_of_file(spec.data.path);
  return facts;
}

}  // namespace ignd
