#include "learn/split.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace ignd {
namespace {

using Rows = std::vector<std::uint32_t>;

// How many rows each part should have.
struct Sizes {
  std::size_t validation = 0, test = 0;
};

std::size_t share_of(std::size_t rows, double fraction) {
  return static_cast<std::size_t>(std::llround(static_cast<double>(rows) * fraction));
}

Sizes wanted_sizes(std::size_t rows, SplitFractions fractions) {
  const auto [validation, test] = fractions;
  if (!(validation >= 0 && test >= 0 && validation + test < 1)) {
    throw InvalidArgument(
        fmt::format("the fractions of the split are {} (validation) and {} (test); they must be at least 0 and less "
                    "than 1 together",
                    validation, test));
  }
  if (rows > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument(fmt::format("{} rows are too many to split; at most 4294967295 can be", rows));
  }
  return {share_of(rows, validation), share_of(rows, test)};
}

void check_enough(std::size_t units, std::string_view what, SplitFractions fractions) {
  const std::size_t parts = 1U + (fractions.validation > 0 ? 1U : 0U) + (fractions.test > 0 ? 1U : 0U);
  if (units < parts) {
    throw InvalidArgument(
        fmt::format("too few {} for the split: one for each part makes {}, the data have {}; give more data or ask for "
                    "fewer parts",
                    what, parts, units));
  }
}

Rows all_rows(std::size_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

// The one of ascending `cuts` that is nearest to `wanted`, the lower one of two.
std::size_t nearest(std::span<const std::size_t> cuts, std::size_t wanted) {
  const auto above = std::ranges::lower_bound(cuts, wanted);
  if (above == cuts.begin()) return 0;
  const auto i = static_cast<std::size_t>(above - cuts.begin());
  if (above == cuts.end()) return i - 1;
  return wanted - cuts[i - 1] <= *above - wanted ? i - 1 : i;
}

// Cuts rows in their order into train, validation and test. `ends` says after how many rows a cut may be, the end of
// the rows included.
Split cut(const Rows& order, std::span<const std::size_t> ends, SplitFractions fractions, Sizes sizes) {
  const auto rows = order.size();
  const bool validate = fractions.validation > 0;
  std::size_t train_end = ends.size() - 1;  // as places in ends
  if (fractions.test > 0) {
    const std::size_t first = validate ? 1 : 0;  // leaves an end for the cut before it
    train_end = first + nearest(ends.subspan(first, ends.size() - 1 - first), rows - sizes.test);
  }
  const std::size_t validation_end = train_end;
  if (validate) {
    const auto wanted = rows - std::min(rows, sizes.test + sizes.validation);
    train_end = nearest(ends.first(validation_end), wanted);
  }

  const auto at = [&](std::size_t end) { return order.begin() + static_cast<std::ptrdiff_t>(ends[end]); };
  Split split{{order.begin(), at(train_end)}, {at(train_end), at(validation_end)}, {at(validation_end), order.end()}};
  for (Rows* part : {&split.train, &split.validation, &split.test}) std::ranges::sort(*part);
  return split;
}

// The number of each row's group, from 0 in the order in which the groups appear.
struct Groups {
  Rows of_row;
  std::vector<std::size_t> size;
};

Groups number_groups(std::span<const std::uint64_t> keys) {
  Groups groups;
  std::unordered_map<std::uint64_t, std::uint32_t> number;
  for (const std::uint64_t key : keys) {
    const auto [entry, is_new] = number.try_emplace(key, static_cast<std::uint32_t>(number.size()));
    if (is_new) groups.size.push_back(0);
    groups.of_row.push_back(entry->second);
    ++groups.size[entry->second];
  }
  return groups;
}

// Takes groups out of `left` for a part of about `wanted` rows: at least one, and so that `reserved` are left.
Rows take_groups(Rows& left, const std::vector<std::size_t>& size, std::size_t wanted, std::size_t reserved) {
  Rows taken, others;
  std::size_t missing = wanted;
  for (const std::uint32_t group : left) {
    const bool may_go = left.size() - taken.size() > reserved;
    const bool fits = size[group] <= missing;
    if (may_go && fits) missing -= size[group];
    (may_go && fits ? taken : others).push_back(group);
  }
  if (others.size() > reserved) {
    const auto smallest = std::ranges::min_element(others, {}, [&](std::uint32_t group) { return size[group]; });
    const bool nearer = size[*smallest] < 2 * missing;
    if (nearer || taken.empty()) {
      taken.push_back(*smallest);
      others.erase(smallest);
    }
  }
  left = others;
  return taken;
}

enum Part : std::size_t { train_part, validation_part, test_part, parts };

// How many rows of a class are in each part. Shares are rounded down, and the rows left over go to the parts that are
// most behind; `behind` says by how much, over the classes so far. A class has a training row in any case.
std::array<std::size_t, parts> share_class(std::size_t rows, SplitFractions fractions,
                                           std::array<double, parts>& behind) {
  const auto all = static_cast<double>(rows);
  const std::array<double, parts> share{all * (1 - fractions.validation - fractions.test), all * fractions.validation,
                                        all * fractions.test};
  std::array<std::size_t, parts> taken{};
  std::array<bool, parts> may_have_more{};
  std::size_t left = rows;
  for (std::size_t part = 0; part < parts; ++part) {
    constexpr double rounding = 1e-9;  // 0.1 * 30 is 3
    const std::size_t free = taken[train_part] > 0 || part == train_part ? left : left - 1;
    taken[part] = std::min(free, static_cast<std::size_t>(share[part] * (1 + rounding)));
    may_have_more[part] = static_cast<double>(taken[part]) < share[part] * (1 - rounding);
    behind[part] += share[part] - static_cast<double>(taken[part]);
    left -= taken[part];
  }
  for (; left > 0; --left) {
    std::size_t next = train_part;
    if (taken[train_part] > 0) {
      next = parts;
      for (std::size_t part = 0; part < parts; ++part) {
        if (may_have_more[part] && (next == parts || behind[part] > behind[next])) next = part;
      }
      if (next == parts) next = train_part;
    }
    ++taken[next];
    behind[next] -= 1;
    may_have_more[next] = false;
  }
  return taken;
}

// A part that was asked for and has no row gets one, of the class with the most training rows.
void fill_part(std::vector<std::array<std::size_t, parts>>& taken, Part part) {
  const auto has_rows = [&](const auto& of_class) { return of_class[part] > 0; };
  if (std::ranges::any_of(taken, has_rows)) return;
  const auto most = std::ranges::max_element(taken, {}, [](const auto& of_class) { return of_class[train_part]; });
  if ((*most)[train_part] < 2) {
    throw InvalidArgument(
        fmt::format("too few rows for the split: with a row of each of {} classes to train on, none is left for "
                    "validation or test; give more data or ask for fewer parts",
                    taken.size()));
  }
  --(*most)[train_part];
  ++(*most)[part];
}

}  // namespace

Split split_by_class(std::span<const std::uint64_t> classes, SplitFractions fractions, std::uint64_t seed) {
  wanted_sizes(classes.size(), fractions);
  check_enough(classes.size(), "rows", fractions);
  const Groups groups = number_groups(classes);
  std::array<double, parts> behind{};
  std::vector<std::array<std::size_t, parts>> taken(groups.size.size());
  for (std::size_t k = 0; k < taken.size(); ++k) taken[k] = share_class(groups.size[k], fractions, behind);
  if (fractions.test > 0) fill_part(taken, test_part);
  if (fractions.validation > 0) fill_part(taken, validation_part);

  Rows order = all_rows(classes.size());
  RandomStream(seed, "split").shuffle(order);
  Split split;
  const std::array<Rows*, parts> rows_of{&split.train, &split.validation, &split.test};
  for (const std::uint32_t row : order) {
    auto& left = taken[groups.of_row[row]];
    std::size_t part = test_part;
    while (left[part] == 0) --part;
    --left[part];
    rows_of[part]->push_back(row);
  }
  for (Rows* part : rows_of) std::ranges::sort(*part);
  return split;
}

namespace {

// The fold of each row.
Rows number_folds(std::span<const std::uint64_t> keys, FoldsBy by, std::size_t count, std::uint64_t seed) {
  const Groups groups = number_groups(keys);
  RandomStream stream(seed, "cross-validation");
  Rows fold_of_row(keys.size());
  if (by != FoldsBy::groups) {
    Rows order = all_rows(keys.size());
    stream.shuffle(order);
    if (by == FoldsBy::classes) std::ranges::stable_sort(order, {}, [&](auto row) { return groups.of_row[row]; });
    for (std::size_t i = 0; i < order.size(); ++i) fold_of_row[order[i]] = static_cast<std::uint32_t>(i % count);
    return fold_of_row;
  }
  // The largest groups first, each to the fold that has the fewest rows so far.
  Rows order = all_rows(groups.size.size());
  stream.shuffle(order);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](auto group) { return groups.size[group]; });
  std::vector<std::size_t> rows_in(count);
  Rows fold_of_group(order.size());
  for (const std::uint32_t group : order) {
    const auto fold = std::ranges::min_element(rows_in) - rows_in.begin();
    fold_of_group[group] = static_cast<std::uint32_t>(fold);
    rows_in[static_cast<std::size_t>(fold)] += groups.size[group];
  }
  for (std::size_t row = 0; row < keys.size(); ++row) fold_of_row[row] = fold_of_group[groups.of_row[row]];
  return fold_of_row;
}

}  // namespace

Split split_into_folds(std::span<const std::uint64_t> keys, FoldsBy by, double validation, Fold fold,
                       std::uint64_t seed) {
  const bool grouped = by == FoldsBy::groups;
  const std::size_t units = grouped ? number_groups(keys).size.size() : keys.size();
  if (units < 2 * fold.count) {
    throw InvalidArgument(fmt::format("too few {} for {} folds: two for each makes {}, the data have {}",
                                      grouped ? "groups" : "rows", fold.count, 2 * fold.count, units));
  }
  const Rows fold_of_row = number_folds(keys, by, fold.count, seed);
  Split split;
  Rows others;
  std::vector<std::uint64_t> keys_of_others;
  for (std::uint32_t row = 0; row < keys.size(); ++row) {
    const bool tested = fold_of_row[row] == fold.number;
    (tested ? split.test : others).push_back(row);
    if (!tested) keys_of_others.push_back(keys[row]);
  }
  constexpr double most = 0.9;
  const SplitFractions fractions{
      .validation = std::min(most, validation * static_cast<double>(keys.size()) / static_cast<double>(others.size()))};
  const Split rest = grouped                  ? split_by_group(keys_of_others, fractions, seed)
                     : by == FoldsBy::classes ? split_by_class(keys_of_others, fractions, seed)
                                              : split_randomly(others.size(), fractions, seed);
  for (const std::uint32_t i : rest.train) split.train.push_back(others[i]);
  for (const std::uint32_t i : rest.validation) split.validation.push_back(others[i]);
  return split;
}

Split split_randomly(std::size_t rows, SplitFractions fractions, std::uint64_t seed) {
  const Sizes sizes = wanted_sizes(rows, fractions);
  check_enough(rows, "rows", fractions);
  Rows order = all_rows(rows);
  RandomStream(seed, "split").shuffle(order);
  std::vector<std::size_t> ends(rows);
  std::iota(ends.begin(), ends.end(), std::size_t{1});
  return cut(order, ends, fractions, sizes);
}

Split split_by_group(std::span<const std::uint64_t> keys, SplitFractions fractions, std::uint64_t seed) {
  const Sizes sizes = wanted_sizes(keys.size(), fractions);
  const Groups groups = number_groups(keys);
  check_enough(groups.size.size(), "groups", fractions);
  Rows left = all_rows(groups.size.size());
  RandomStream(seed, "split").shuffle(left);

  Split split;
  std::vector<Rows*> part_of(groups.size.size(), &split.train);
  if (fractions.test > 0) {
    const std::size_t reserved = fractions.validation > 0 ? 2 : 1;
    for (const auto group : take_groups(left, groups.size, sizes.test, reserved)) part_of[group] = &split.test;
  }
  if (fractions.validation > 0) {
    for (const auto group : take_groups(left, groups.size, sizes.validation, 1)) part_of[group] = &split.validation;
  }
  for (std::uint32_t row = 0; row < keys.size(); ++row) part_of[groups.of_row[row]]->push_back(row);
  return split;
}

Split split_by_time(std::span<const double> times, SplitFractions fractions) {
  const Sizes sizes = wanted_sizes(times.size(), fractions);
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (std::isnan(times[row])) {
      throw InvalidArgument(fmt::format("the time of row {} is not a number, so the rows have no order", row + 1));
    }
  }
  Rows order = all_rows(times.size());
  std::ranges::sort(order, {}, [&](std::uint32_t row) { return times[row]; });
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= order.size(); ++i) {
    if (i == order.size() || times[order[i - 1]] < times[order[i]]) ends.push_back(i);
  }
  check_enough(ends.size(), "different times", fractions);
  return cut(order, ends, fractions, sizes);
}

}  // namespace ignd
