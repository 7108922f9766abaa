#include "lab/prepared_tables.hpp"

#include "base/text.hpp"
#include "data/archive.hpp"
#include "data/catalogue.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"

#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace ignd {
namespace {

// Rows of all tasks that are kept for later runs: four bytes each.
constexpr std::size_t most_rows = std::size_t{1} << 26;

struct Prepared {
  std::shared_ptr<const Table> table;
  TableDataset task;
};

// A file of that path, or else a data set of that name.
DataFile located(DataFile data) {
  std::error_code ignored;
  if (!std::filesystem::exists(data.path, ignored) && named_data_set(data.path) != nullptr) {
    data.path = find_data(data.path).string();
  }
  return data;
}

std::shared_ptr<const Table> read(const TableStudy& study) {
  const DataFile data = located(study.data);
  if (sha256_of_file(data.path) != study.checksum) {
    throw FileError(
        fmt::format("{} is not the file that these runs are of: its checksum is another one; put that file back, or "
                    "begin again with another --out",
                    data.name()));
  }
  return std::make_shared<const Table>(read_table(data, study.task));
}

TableDataset task_with(const Table& table, const TableStudy& study, std::uint64_t seed) {
  DatasetOptions options = study.task;
  options.seed = seed;
  return {table, options};
}

// Whether it is the split of this seed that cannot be used, and not the table or what is asked of it.
bool another_seed_does(const Table& table, const TableStudy& study, std::uint64_t seed) {
  constexpr std::uint64_t enough = 4;  // a bad table is not to be looked at for long
  for (std::uint64_t other = 1; other <= enough; ++other) {
    if (other == seed) continue;
    try {
      task_with(table, study, other);
      return true;
    } catch (const Error&) {
      continue;
    }
  }
  return false;
}

void refuse_split(const Table& table, const TableStudy& study, std::uint64_t seed, const char* fault) {
  if (!another_seed_does(table, study, seed)) return;
  const std::string fewer = seed == 1 ? "" : fmt::format("ask for at most {} --seeds, or ", seed - 1);
  throw FileError(fmt::format(
      "{}: the split of seed {} cannot be used: {}; {}choose other --validation and --test, which make other splits",
      study.data.name(), seed, fault, fewer));
}

std::shared_ptr<const Prepared> prepare(const std::shared_ptr<const Table>& table, const TableStudy& study,
                                        std::uint64_t seed) {
  try {
    return std::make_shared<const Prepared>(Prepared{table, task_with(*table, study, seed)});
  } catch (const BadSample& fault) {
    refuse_split(*table, study, seed, fault.what());
    throw FileError(fmt::format("{}, {}", study.data.name(), fault.what()));
  } catch (const InvalidArgument& fault) {
    refuse_split(*table, study, seed, fault.what());
    throw;
  }
}

// The file, and everything else that a prepared table depends on.
std::string file_key(const TableStudy& study) {
  const DataFile& data = study.data;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", data.path, study.checksum, data.format, data.delimiter,
                     data.header, data.decimal, study.task.skip_bad_rows, join(study.task.columns(), "\n"));
}

std::string task_key(const TableStudy& study, std::uint64_t seed) {
  TableStudy relevant;
  relevant.data = study.data;
  relevant.checksum = study.checksum;
  relevant.task = study.task;
  std::string key = fmt::format("{}\n", seed);
  const Settings settings = settings_of(relevant);
  for (const auto& [name, value] : settings.values()) key += fmt::format("{}={}\n", name, value);
  return key;
}

class Cache {
 public:
  std::shared_ptr<const Prepared> get(const TableStudy& study, std::uint64_t seed, const std::atomic<bool>* stop) {
    const std::lock_guard lock(mutex_);
    if (stop != nullptr && *stop) throw RunStopped();
    const std::string key = task_key(study, seed);
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      if (entry->first != key) continue;
      recent_.splice(recent_.begin(), recent_, entry);
      return recent_.front().second;
    }
    recent_.emplace_front(key, prepare(table_of(study), study, seed));
    drop_oldest();
    return recent_.front().second;
  }

 private:
  std::shared_ptr<const Table> table_of(const TableStudy& study) {
    std::shared_ptr<const Table>& table = tables_[file_key(study)];
    if (!table) table = read(study);
    return table;
  }

  void drop_oldest() {
    std::size_t rows = 0;
    auto entry = recent_.begin();
    while (entry != recent_.end() && (entry == recent_.begin() || rows + entry->second->table->size() <= most_rows)) {
      rows += entry->second->table->size();
      ++entry;
    }
    recent_.erase(entry, recent_.end());
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Table>> tables_;
  std::list<std::pair<std::string, std::shared_ptr<const Prepared>>> recent_;  // the latest first
};

// Whether a target of texts is meant to be numbers, but for a few.
bool is_number_target(const Column& target, const std::string& loss) {
  // More texts than have names are too many to be classes.
  if (loss.empty()) return target.labels.empty() || are_mostly_numbers(target.labels);
  const Link link = make_vector_loss(loss)->link();
  return link != Link::softmax && link != Link::logit;
}

}  // namespace

const DataSet* named_data_set(const std::string& name) {
  const auto& sets = data_sets();
  const auto found = std::ranges::find(sets, name, &DataSet::name);
  return found == sets.end() ? nullptr : &*found;
}

Table read_table(DataFile data, const DatasetOptions& options) {
  data.columns = options.columns();
  TableOptions rules;
  rules.skip_bad_rows = options.skip_bad_rows;
  Table table = data.read(rules);
  std::error_code unknown;
  const bool again = std::filesystem::is_regular_file(data.path, unknown);
  if (!options.skip_bad_rows || !again) return table;
  for (const auto& name : {std::optional(options.target), options.weight}) {
    if (!name) continue;
    const Column& column = table.columns()[table.find(*name)];
    const bool is_number = name != options.target || is_number_target(column, options.loss);
    if (column.kind == ColumnKind::text && is_number) rules.formats.try_emplace(*name);
  }
  return rules.formats.empty() ? std::move(table) : data.read(rules);
}

std::shared_ptr<const TableDataset> prepared_table(const TableStudy& study, std::uint64_t seed,
                                                   const std::atomic<bool>* stop) {
  static Cache cache;
  auto prepared = cache.get(study, seed, stop);
  return {prepared, &prepared->task};
}

}  // namespace ignd
