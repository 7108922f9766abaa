#include "learn/class_dataset.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ignd {

ClassDataset::ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                           const DatasetOptions& options)
    : options_(options) {
  auto [test, others] = take(classes, samples, options.positive);
  const double test_share = test.empty() ? options.test : 0;
  split_ = split_randomly(others.size(), {.validation = options.validation, .test = test_share}, options.seed);
  for (auto* part : {&split_.train, &split_.validation, &split_.test}) {
    for (std::uint32_t& row : *part) row = others[row];
  }
  if (!test.empty()) split_.test = std::move(test);
  for (std::size_t k = 0; k < classes.size(); ++k) {
    if (std::ranges::any_of(split_.train, [&](std::uint32_t row) { return labels_[row] == k; })) continue;
    throw InvalidArgument(fmt::format("no training sample is of the class {}; give more of them, or another --seed",
                                      in_quotes(classes[k])));
  }
  limit_parts(options);
}

ClassDataset::ClassDataset(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                           const std::string& positive) {
  auto [test, others] = take(classes, samples, positive);
  split_.test = std::move(test.empty() ? others : test);
}

ClassDataset::Known ClassDataset::take(const std::vector<std::string>& classes, std::span<const Labelled> samples,
                                       const std::string& positive) {
  if (classes.size() != 2) {
    const auto some = std::span(classes).first(std::min<std::size_t>(classes.size(), 5));
    throw InvalidArgument(
        classes.empty() ? "there are no classes; put the files of each of two into a folder of its own: CLASS/file"
                        : fmt::format("there {} {} class{}: {}, but two are needed", classes.size() == 1 ? "is" : "are",
                                      classes.size(), classes.size() == 1 ? "" : "es", join(some, ", ")));
  }
  target_.name = "class";
  const std::size_t one = positive.empty() ? 1 : find_positive(classes, positive, true);
  target_.classes = {classes[1 - one], classes[one]};
  target_.text = true;
  loss_ = "logistic";
  Known known;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    labels_.push_back(samples[i].label == one ? 1 : 0);
    (samples[i].part == FilePart::test ? known.test : known.others).push_back(i);
  }
  return known;
}

std::vector<std::pair<std::string, std::string>> ClassDataset::options_used() const {
  return {{"validation", format_number(options_.validation)},
          {"test", format_number(options_.test)},
          {"split-seed", std::to_string(options_.seed)},
          {"positive", options_.positive}};
}

}  // namespace ignd
