#include "learn/open_dataset.hpp"

#include "base/stopped.hpp"
#include "base/text.hpp"
#include "data/archive.hpp"
#include "data/catalogue.hpp"
#include "data/class_files.hpp"
#include "data/text_set.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/file_dataset.hpp"
#include "learn/table_model.hpp"

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

constexpr const char* housing_name = "california-housing";
constexpr const char* vocabulary_name = "cl100k-base";

// Of all datasets that are kept for later runs.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

// The data set of the catalogue that a spec names in place of a path; null: the path is one.
const DataSet* named_set(const RunSpec& spec) {
  if (spec.data.frame != nullptr) return nullptr;
  std::error_code ignored;
  if (fs::exists(spec.data.path, ignored)) return nullptr;
  const auto& sets = data_sets();
  const auto found = std::ranges::find(sets, spec.data.path, &DataSet::name);
  return found == sets.end() ? nullptr : &*found;
}

DataFile located(const RunSpec& spec) {
  DataFile data = spec.data;
  if (named_set(spec) != nullptr) data.path = find_data(data.path).string();
  return data;
}

void check_checksum(const RunSpec& spec, const DataFile& data) {
  if (spec.checksum.empty() || sha256_of_file(data.path) == spec.checksum) return;
  throw FileError(fmt::format(
      "{} has changed since these runs were made (its checksum differs): put that file back, or start again "
      "with another --out",
      data.name()));
}

// A model that is trained further reads its columns as it knows them.
TableOptions rules_of(const RunSpec& spec) {
  if (!spec.start) return {};
  TableOptions rules = spec.start->reading_rules();
  const Target& target = spec.start->target();
  if (!target.text) rules.formats[target.name] = target.format;
  return rules;
}

// A table, images or texts as they were read, before they are split.
struct Source {
  std::shared_ptr<const Table> table;
  std::shared_ptr<const ImageSet> images;
  std::shared_ptr<const TextSet> texts;
};

Source read_source(const RunSpec& spec, DataKind kind, const ReadingControl& control) {
  Source source;
  const DataSet* set = named_set(spec);
  const DataFile data = located(spec);
  check_checksum(spec, data);
  if (kind == DataKind::images) {
    source.images = std::make_shared<const ImageSet>(
        ImageSet::open(data.path, {spec.dataset.size, spec.dataset.size},
                       {.cache = {}, .progress = control.progress, .stop = control.stop, .two_classes = true}));
  } else if (kind == DataKind::texts) {
    const Tokenizer tokenizer = read_cl100k(find_data(vocabulary_name));
    const TextColumns columns{.text = spec.dataset.text, .target = spec.dataset.target, .classes = {}};
    source.texts = std::make_shared<const TextSet>(
        spec.dataset.text.empty() ? read_text_files(data.path, tokenizer, spec.dataset.length)
                                  : read_text_table(data, columns, tokenizer, spec.dataset.length));
  } else if (set != nullptr && set->name == housing_name) {
    source.table = std::make_shared<const Table>(read_california_housing(data.path));
  } else {
    source.table = std::make_shared<const Table>(read_table(data, spec.dataset, rules_of(spec)));
  }
  if (source.table && spec.dataset.above_median) {
    source.table = std::make_shared<const Table>(source.table->above_median(source.table->find(spec.dataset.target)));
  }
  return source;
}

// A dataset of a table, which it refers to.
struct PreparedTable {
  std::shared_ptr<const Table> table;
  TableDataset dataset;
};

std::shared_ptr<const Dataset> prepare(const Source& source, const RunSpec& spec) {
  if (source.table) {
    std::optional<KnownInputs> known;
    if (spec.start) known = {spec.start->encoder(), spec.start->target(), spec.start->loss()};
    const auto made = std::make_shared<const PreparedTable>(
        PreparedTable{source.table, TableDataset(*source.table, spec.dataset, known ? &*known : nullptr)});
    return {made, &made->dataset};
  }
  if (source.images) return std::make_shared<const ImageDataset>(source.images, spec.dataset);
  TextDataset::Reader reader{.length = spec.dataset.length,
                             .vocabulary = cl100k_vocabulary,
                             .text_column = spec.dataset.text,
                             .target_column = spec.dataset.text.empty() ? "" : spec.dataset.target};
  return std::make_shared<const TextDataset>(source.texts, std::move(reader), spec.dataset);
}

// Whether it is the split of this seed that cannot be used, and not the table or what is asked of it.
bool another_seed_does(const Table& table, DatasetOptions options) {
  constexpr std::uint64_t enough = 4;  // a bad table is not to be looked at for long
  const std::uint64_t refused = std::exchange(options.seed, 0);
  while (++options.seed <= enough) {
    if (options.seed == refused) continue;
    try {
      const TableDataset usable(table, options);
      return true;
    } catch (const Error&) {
      continue;
    }
  }
  return false;
}

// Throws FileError where it is.
void refuse_split(const Source& source, const RunSpec& spec, const char* fault) {
  if (!source.table || !another_seed_does(*source.table, spec.dataset)) return;
  const std::uint64_t seed = spec.dataset.seed;
  const std::string fewer = seed == 1 ? "" : fmt::format("ask for at most {} --seeds, or ", seed - 1);
  throw FileError(fmt::format(
      "{}: the split of seed {} cannot be used: {}; {}choose other --validation and --test, which make other splits",
      spec.data.name(), seed, fault, fewer));
}

[[noreturn]] void refuse_sample(const RunSpec& spec, const BadSample& fault) {
  throw FileError(fmt::format("{}, {}", spec.data.name(), fault.what()));
}

// What reading depends on.
std::string source_key(const RunSpec& spec) {
  const DataFile& data = spec.data;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", data.path, spec.checksum, data.format,
                     data.delimiter, data.header, data.decimal, spec.dataset.text, spec.dataset.size,
                     spec.dataset.length, spec.dataset.skip_bad_rows, spec.dataset.above_median,
                     join(spec.dataset.columns(), "\n"));
}

class Cache {
 public:
  std::shared_ptr<const Dataset> get(const RunSpec& spec, const std::atomic<bool>* stop) {
    const std::lock_guard lock(mutex_);
    if (stop != nullptr && *stop) throw Stopped();
    const std::string key = dataset_key(spec);
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      if (entry->first != key) continue;
      recent_.splice(recent_.begin(), recent_, entry);
      return recent_.front().second;
    }
    recent_.emplace_front(key, prepare_or_refuse(source_of(spec, {.stop = stop}), spec));
    drop_oldest();
    return recent_.front().second;
  }

 private:
  static std::shared_ptr<const Dataset> prepare_or_refuse(const Source& source, const RunSpec& spec) {
    try {
      return prepare(source, spec);
    } catch (const BadSample& fault) {
      refuse_split(source, spec, fault.what());
      refuse_sample(spec, fault);
    } catch (const InvalidArgument& fault) {
      refuse_split(source, spec, fault.what());
      throw;
    }
  }

  const Source& source_of(const RunSpec& spec, const ReadingControl& control) {
    const std::string key = source_key(spec);
    const auto found = sources_.find(key);
    if (found != sources_.end()) return found->second;
    return sources_.emplace(key, read_source(spec, kind_of_data(spec), control)).first->second;
  }

  void drop_oldest() {
    std::size_t bytes = 0;
    auto entry = recent_.begin();
    while (entry != recent_.end() && (entry == recent_.begin() || bytes + entry->second->bytes() <= most_bytes)) {
      bytes += entry->second->bytes();
      ++entry;
    }
    recent_.erase(entry, recent_.end());
  }

  std::mutex mutex_;
  std::map<std::string, Source> sources_;
  std::list<std::pair<std::string, std::shared_ptr<const Dataset>>> recent_;  // the latest first
};

// Whether a target of texts is meant to be numbers, but for a few.
bool is_number_target(const Column& target, const std::string& loss) {
  // More texts than have names are too many to be classes.
  if (loss.empty()) return target.labels.empty() || are_mostly_numbers(target.labels);
  const Link link = make_vector_loss(loss)->link();
  return link != Link::softmax && link != Link::logit;
}

}  // namespace

std::string dataset_key(const RunSpec& spec) {
  RunSpec relevant;
  relevant.data = spec.data;
  relevant.checksum = spec.checksum;
  relevant.dataset = spec.dataset;
  return fmt::format("{}\n{}", spec.dataset.seed, settings_of(relevant).text());
}

Table read_table(DataFile data, const DatasetOptions& options, TableOptions rules) {
  data.columns = options.columns();
  rules.skip_bad_rows = options.skip_bad_rows;
  Table table = data.read(rules);
  std::error_code unknown;
  const bool again = fs::is_regular_file(data.path, unknown);
  if (!options.skip_bad_rows || !again) return table;
  for (const auto& name : {std::optional(options.target), options.weight}) {
    if (!name) continue;
    const Column& column = table.columns()[table.find(*name)];
    const bool is_number = name != options.target || is_number_target(column, options.loss);
    if (column.kind == ColumnKind::text && is_number) rules.formats.try_emplace(*name);
  }
  return rules.formats.empty() ? std::move(table) : data.read(rules);
}

DataKind kind_of_data(const RunSpec& spec) {
  if (const DataSet* set = named_set(spec)) {
    if (set->name.starts_with("cats-vs-dogs")) return DataKind::images;
    return set->name == "imdb" ? DataKind::texts : DataKind::table;
  }
  if (!spec.dataset.text.empty()) return DataKind::texts;
  if (spec.data.frame != nullptr) return DataKind::table;
  if (!holds_files(spec.data.path)) return DataKind::table;
  return kind_of_files(spec.data.path) == SampleKind::images ? DataKind::images : DataKind::texts;
}

MissingData missing_data(const RunSpec& spec) {
  std::error_code ignored;
  const DataSet* set = named_set(spec);
  if (set == nullptr && !fs::exists(spec.data.path, ignored)) {
    return {fmt::format("there is no file {}", spec.data.name()), nullptr};
  }
  std::vector<const DataSet*> needed;
  if (set != nullptr) needed.push_back(set);
  if (kind_of_data(spec) == DataKind::texts) needed.push_back(&find_data_set(vocabulary_name));
  for (const DataSet* one : needed) {
    const DataPlace place = look_for_data(*one);
    if (place.path.empty()) return {absence_of(*one, place), one};
  }
  return {};
}

std::shared_ptr<const Dataset> read_dataset(const RunSpec& spec, const ReadingControl& control) {
  if (control.stop != nullptr && *control.stop) throw Stopped();
  try {
    return prepare(read_source(spec, kind_of_data(spec), control), spec);
  } catch (const BadSample& fault) {
    refuse_sample(spec, fault);
  }
}

std::shared_ptr<const Dataset> open_dataset(const RunSpec& spec, const std::atomic<bool>* stop) {
  static Cache cache;
  return cache.get(spec, stop);
}

std::shared_ptr<const TableDataset> open_table(const RunSpec& spec, const std::atomic<bool>* stop) {
  auto table = std::dynamic_pointer_cast<const TableDataset>(open_dataset(spec, stop));
  if (!table) throw InvalidArgument(fmt::format("{} is not a table", spec.data.name()));
  return table;
}

}  // namespace ignd
