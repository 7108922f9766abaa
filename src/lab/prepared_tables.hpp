#pragma once

#include "lab/table_study.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace ignd {

// A table to train on. With skip_bad_rows, a target that is numbers but for a few is read as numbers: rows with
// something else in it are bad.
Table read_table(DataFile data, const DatasetOptions& options);

// The study's table, split and encoded for a seed. A file is read once, and what is prepared is shared by the runs that
// want the same, as long as there is room. May be called from any thread. Throws FileError where the file is not the
// one that the study is of, has a value that cannot be used, or makes a split of this seed that cannot, and
// InvalidArgument.
// Preparing is done by one thread at a time: RunStopped is for those that would only begin with it once `stop` is set.
std::shared_ptr<const TableDataset> prepared_table(const TableStudy& study, std::uint64_t seed,
                                                   const std::atomic<bool>* stop = nullptr);

// The data set of the catalogue that a study may name in place of a file; none of that name: null.
struct DataSet;
const DataSet* named_data_set(const std::string& name);

}  // namespace ignd
