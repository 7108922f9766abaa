#pragma once

#include "learn/run_spec.hpp"
#include "learn/table_dataset.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ignd {

struct DataSet;

// A table to train on. With skip_bad_rows, a target that is numbers but for a few is read as numbers: rows with
// something else in it are bad.
Table read_table(DataFile data, const DatasetOptions& options, TableOptions rules = {});

// What the data of a run are: by the name of a data set, or by what the path holds. Throws FileError where a folder or
// an archive holds neither images nor texts.
DataKind kind_of_data(const RunSpec& spec);

// What a run lacks.
struct MissingData {
  std::string fault;             // such as a data set that is not here, and what to do about it; "" if nothing
  const DataSet* set = nullptr;  // the data set
};
MissingData missing_data(const RunSpec& spec);

// All that the samples of a run depend on, as text.
std::string dataset_key(const RunSpec& spec);

// The stop flag and the progress callback of reading.
struct ReadingControl {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress = {};  // of images that are decoded
};

// The samples of a run, split and encoded. Throws FileError where the file is not the one that the spec's checksum
// names or has a value that cannot be used; InvalidArgument for options that cannot; and Stopped once `stop` is set.
std::shared_ptr<const Dataset> read_dataset(const RunSpec& spec, const ReadingControl& control = {});

// The same for runs that follow each other: a source is read once, and what is prepared is shared by the runs that want
// the same, as long as there is memory for it. Data that no checksum names must not change meanwhile. May be called
// from any thread; preparing is done by one thread at a time. The message about an unusable split names its seed.
std::shared_ptr<const Dataset> open_dataset(const RunSpec& spec, const std::atomic<bool>* stop = nullptr);
std::shared_ptr<const TableDataset> open_table(const RunSpec& spec, const std::atomic<bool>* stop = nullptr);

}  // namespace ignd
