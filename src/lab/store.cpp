#include "lab/store.hpp"

#include "base/atomic_file.hpp"
#include "base/pinned.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

namespace ignd {
namespace {

constexpr int application_id = 0x69676e64;  // "ignd"
constexpr int newest_version = 3;

static_assert(std::endian::native == std::endian::little, "curves are stored as they are in memory");

constexpr const char* schema = R"sql(
  CREATE TABLE experiment (
    name TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    quick INTEGER NOT NULL,
    seeds INTEGER,
    command TEXT NOT NULL,
    wall_seconds REAL NOT NULL);
  CREATE TABLE run (
    config TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    failed_at INTEGER NOT NULL,
    score REAL,
    validation REAL,
    x BLOB NOT NULL,
    y BLOB NOT NULL,
    extras TEXT NOT NULL,
    seconds REAL NOT NULL,
    version TEXT NOT NULL,
    host TEXT NOT NULL,
    validation_y BLOB NOT NULL DEFAULT x'',
    steps BLOB NOT NULL DEFAULT x'');
)sql";

// Made where there is something to put into it. Earlier versions do not look for it.
constexpr const char* conflict_schema = R"sql(
  CREATE TABLE IF NOT EXISTS conflict (
    config TEXT NOT NULL,
    status TEXT NOT NULL,
    failed_at INTEGER NOT NULL,
    score REAL,
    validation REAL,
    x BLOB NOT NULL,
    y BLOB NOT NULL,
    extras TEXT NOT NULL,
    seconds REAL NOT NULL,
    version TEXT NOT NULL,
    host TEXT NOT NULL,
    validation_y BLOB NOT NULL,
    steps BLOB NOT NULL,
    folder TEXT NOT NULL,
    PRIMARY KEY (config, folder));
)sql";

// Stores of version 1 have one curve for each run, and for these tasks it is that of the validation samples.
constexpr const char* curve_is_of_validation = "(config GLOB 'task=classification\n*' OR config GLOB 'task=table\n*')";

std::string update_from_version_1() {
  return fmt::format(
      "BEGIN; ALTER TABLE run ADD COLUMN validation_y BLOB NOT NULL DEFAULT x''; "
      "UPDATE run SET validation_y = y, y = x'' WHERE {}; PRAGMA user_version = 2; COMMIT",
      curve_is_of_validation);
}

constexpr const char* update_from_version_2 =
    "BEGIN; ALTER TABLE run ADD COLUMN steps BLOB NOT NULL DEFAULT x''; PRAGMA user_version = 3; COMMIT";

// Views leave the file as it is, since a reader may not be allowed to write.
constexpr const char* view_of_version_2 = "CREATE TEMP VIEW run AS SELECT *, x'' AS steps FROM main.run";

std::string view_of_version_1() {
  return fmt::format(
      "CREATE TEMP VIEW run AS SELECT config, status, failed_at, score, validation, x, "
      "CASE WHEN {0} THEN x'' ELSE y END AS y, extras, seconds, version, host, "
      "CASE WHEN {0} THEN y ELSE x'' END AS validation_y, x'' AS steps FROM main.run",
      curve_is_of_validation);
}

class Connection : Pinned {
 public:
  explicit Connection(std::filesystem::path path) : path_(std::move(path)) {}
  ~Connection() { sqlite3_close(handle_); }

  void open(int flags) {
    check(sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr));
    // Waits for other programs that use the file for a moment.
    constexpr int patience_ms = 10'000;
    sqlite3_busy_timeout(handle_, patience_ms);
  }

  [[noreturn]] void refuse(int code) const {
    const std::string where = quoted_path(path_);
    switch (code & 0xff) {
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT:
        throw FileError(
            fmt::format("{} is damaged or not a results store; nothing was changed: move it away, or use "
                        "another folder with --out",
                        where));
      case SQLITE_FULL:
      case SQLITE_IOERR:
        throw FileError(
            fmt::format("cannot write to {} ({}); earlier results are safe: free some space, then run the "
                        "same command again",
                        where, sqlite3_errmsg(handle_)));
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
      case SQLITE_PERM:
        throw FileError(fmt::format("cannot open {} ({}); check the folder's permissions", where,
                                    handle_ != nullptr ? sqlite3_errmsg(handle_) : "no memory"));
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw FileError(fmt::format("another program is using {}; try again when it is done", where));
      default:
        throw FileError(fmt::format("{}: {}", where, sqlite3_errmsg(handle_)));
    }
  }

  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) refuse(code);
  }

  void run(const char* sql) const { check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

  sqlite3* handle() const { return handle_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
};

class Statement : Pinned {
 public:
  Statement(const Connection& connection, const char* sql) : connection_(connection) {
    connection.check(sqlite3_prepare_v2(connection.handle(), sql, -1, &handle_, nullptr));
  }
  ~Statement() { sqlite3_finalize(handle_); }

  // In the order of the question marks.
  Statement& bind(const std::string& text) {
    return bound(sqlite3_bind_text64(handle_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  Statement& bind(std::optional<double> value) {
    return bound(value ? sqlite3_bind_double(handle_, ++bound_, *value) : sqlite3_bind_null(handle_, ++bound_));
  }
  Statement& bind(std::optional<std::uint64_t> value) {
    return bound(value ? sqlite3_bind_int64(handle_, ++bound_, static_cast<sqlite3_int64>(*value))
                       : sqlite3_bind_null(handle_, ++bound_));
  }
  Statement& bind(const std::vector<double>& values) {
    return bound(sqlite3_bind_blob64(handle_, ++bound_, values.empty() ? "" : static_cast<const void*>(values.data()),
                                     values.size() * sizeof(double), SQLITE_TRANSIENT));
  }

  // Whether there is a (further) row.
  bool step() {
    const int code = sqlite3_step(handle_);
    connection_.check(code);
    return code == SQLITE_ROW;
  }

  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size(column)));
  }
  std::optional<double> number(int column) const {
    if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_double(handle_, column);
  }
  std::optional<std::uint64_t> count(int column) const {
    if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
    return static_cast<std::uint64_t>(sqlite3_column_int64(handle_, column));
  }
  std::vector<double> numbers(int column) const {
    const void* bytes = sqlite3_column_blob(handle_, column);
    if (static_cast<std::size_t>(size(column)) % sizeof(double) != 0) connection_.check(SQLITE_CORRUPT);
    std::vector<double> values(static_cast<std::size_t>(size(column)) / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes, values.size() * sizeof(double));
    return values;
  }

 private:
  Statement& bound(int code) {
    connection_.check(code);
    return *this;
  }
  int size(int column) const { return sqlite3_column_bytes(handle_, column); }

  const Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

int pragma_value(const Connection& connection, const char* sql) {
  Statement statement(connection, sql);
  return statement.step() ? static_cast<int>(statement.count(0).value_or(0)) : 0;
}

// Locks the folder for the lifetime of this object. The system unlocks it, however the program ends.
class FolderLock : Pinned {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : file_(::open((folder / "results.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (!file_.is_open()) {
      throw FileError(fmt::format("cannot write to the folder {} ({}); choose another with --out", quoted_path(folder),
                                  std::strerror(errno)));
    }
    if (flock(*file_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK) {
      throw FileError(fmt::format("cannot lock the folder {} ({})", quoted_path(folder), std::strerror(errno)));
    }
    throw FileError(fmt::format("another ignd is working in the folder {}; wait for it, or choose another with --out",
                                quoted_path(folder)));
  }

 private:
  Descriptor file_;
};

std::string extras_text(const RunResult& result) {
  std::string text;
  for (const auto& [name, value] : result.extras) text += fmt::format("{}={}\n", name, format_number(value));
  for (const auto& [name, rows] : result.matrices) text += fmt::format("{}={}\n", name, rows_text(rows));
  return text;
}

double parse_extra(std::string_view text) {
  return text == "nan" || text == "-nan" ? NAN : parse_number(text, "a stored number");
}

// Numbers and matrices, one per line; a matrix starts with a bracket.
void parse_extras(std::string_view text, RunResult& result, const Connection& connection) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) connection.refuse(SQLITE_CORRUPT);
    const std::string name(line.substr(0, equals));
    const std::string_view value = line.substr(equals + 1);
    try {
      if (value.starts_with('[')) {
        result.matrices.emplace_back(name, parse_rows(value, name));
      } else {
        result.extras.emplace_back(name, parse_extra(value));
      }
    } catch (const InvalidArgument&) {
      connection.refuse(SQLITE_CORRUPT);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

RunStatus parse_status(const std::string& text, const Connection& connection) {
  const auto status = parse_run_status(text);
  if (!status || *status == RunStatus::running || *status == RunStatus::stopped_early) {
    connection.refuse(SQLITE_CORRUPT);
  }
  return *status;
}

// Written under another name first, so that a killed program does not leave half a store.
void make_new_store(const std::filesystem::path& path) {
  std::filesystem::path unfinished = path;
  unfinished += ".new";
  std::error_code failed;
  for (const char* ending : {"", "-journal"}) std::filesystem::remove(unfinished.string() + ending, failed);
  {
    Connection connection(unfinished);
    connection.open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    connection.run(fmt::format("BEGIN; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", schema,
                               application_id, newest_version)
                       .c_str());
  }
  std::filesystem::rename(unfinished, path, failed);
  if (failed) throw FileError(fmt::format("cannot make {}: {}", quoted_path(path), failed.message()));
}

// In the order of the columns of the table "run".
Statement& bind_run(Statement& insert, const std::string& key, const StoredRun& run) {
  return insert.bind(key)
      .bind(std::string(to_string(run.result.status)))
      .bind(std::optional(run.result.failed_at))
      .bind(run.result.score)
      .bind(run.result.validation)
      .bind(run.result.x)
      .bind(run.result.y)
      .bind(extras_text(run.result))
      .bind(std::optional(run.seconds))
      .bind(run.version)
      .bind(run.host)
      .bind(run.result.validation_y)
      .bind(run.result.steps);
}

// Where a NaN equals itself, as it does in a file. Timings are no results.
bool have_same_bits(const RunResult& a, const RunResult& b) {
  const auto same = [](const std::vector<double>& one, const std::vector<double>& two) {
    return one.size() == two.size() && (one.empty() || std::memcmp(one.data(), two.data(), one.size() * 8) == 0);
  };
  const auto untimed = [](RunResult result) {
    std::erase_if(result.extras, [](const auto& extra) { return extra.first == seconds_column; });
    return extras_text(result);
  };
  return a.status == b.status && a.failed_at == b.failed_at && a.score == b.score && a.validation == b.validation &&
         same(a.x, b.x) && same(a.y, b.y) && same(a.validation_y, b.validation_y) && same(a.steps, b.steps) &&
         untimed(a) == untimed(b);
}

}  // namespace

struct Store::Database {
  explicit Database(const std::filesystem::path& folder) : connection(store_path(folder)) {}

  // Returns the version.
  int check_version() const {
    const int id = pragma_value(connection, "PRAGMA application_id");
    const int version = pragma_value(connection, "PRAGMA user_version");
    const std::string where = quoted_path(connection.path());
    if (id != application_id) throw FileError(fmt::format("{} is a database, but not a results store", where));
    if (version > newest_version) {
      throw FileError(
          fmt::format("{} was written by a newer ignd (store version {}; this program reads up to {}); use that "
                      "program, or another folder with --out",
                      where, version, newest_version));
    }
    return version;
  }

  void open_to_write() {
    // An existing file is not replaced, even if it is empty or not a store.
    if (!std::filesystem::exists(connection.path())) make_new_store(connection.path());
    connection.open(SQLITE_OPEN_READWRITE);
    const int version = check_version();
    // Committed transactions survive any end of the program. A power cut may lose the last few, but never damages the
    // file.
    connection.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    Statement checked(connection, "PRAGMA quick_check");
    if (checked.step() && checked.text(0) != "ok") connection.check(SQLITE_CORRUPT);
    if (version == 1) connection.run(update_from_version_1().c_str());
    if (version <= 2) connection.run(update_from_version_2);
  }

  // Opens for writing if possible, so that SQLite can roll back what a killed program left half done.
  void open_to_read() {
    connection.open(SQLITE_OPEN_READWRITE);
    const int version = check_version();
    if (version == 1) connection.run(view_of_version_1().c_str());
    if (version == 2) connection.run(view_of_version_2);
  }

  std::optional<FolderLock> lock;
  Connection connection;
};

std::filesystem::path store_path(const std::filesystem::path& folder) { return folder / "results.sqlite"; }

Store::Store(const std::filesystem::path& folder, Access access) {
  std::error_code failed;
  if (access == Access::read) {
    if (!std::filesystem::exists(store_path(folder), failed)) {
      throw FileError(
          fmt::format("there are no results in {}; `ignd reproduce --out` makes them", quoted_path(folder)));
    }
    database_ = std::make_unique<Database>(folder);
    database_->open_to_read();
    return;
  }
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw FileError(fmt::format("cannot make the folder {} ({}); choose another with --out", quoted_path(folder),
                                failed.message()));
  }
  database_ = std::make_unique<Database>(folder);
  database_->lock.emplace(folder);
  database_->open_to_write();
}

Store::~Store() {
  // Leaves one plain file, which can be read without write permission. If this fails, the next writer does it.
  if (database_ && database_->lock) {
    sqlite3_exec(database_->connection.handle(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  }
}

Store::Store(Store&&) noexcept = default;

std::filesystem::path Store::folder() const { return database_->connection.path().parent_path(); }

bool Store::contains(const RunConfig& config) const {
  Statement query(database_->connection, "SELECT 1 FROM run WHERE config = ?");
  return query.bind(config.text()).step();
}

std::optional<StoredRun> Store::find(const RunConfig& config) const { return find_key(config.text()); }

std::optional<StoredRun> Store::find_key(const std::string& key) const {
  const Connection& connection = database_->connection;
  Statement query(connection,
                  "SELECT status, failed_at, score, validation, x, y, extras, seconds, version, host, "
                  "validation_y, steps FROM run WHERE config = ?");
  if (!query.bind(key).step()) return std::nullopt;
  RunResult result{.status = parse_status(query.text(0), connection),
                   .failed_at = query.count(1).value_or(0),
                   .score = query.number(2),
                   .validation = query.number(3),
                   .x = query.numbers(4),
                   .y = query.numbers(5),
                   .validation_y = query.numbers(10),
                   .steps = query.numbers(11),
                   .extras = {}};
  parse_extras(query.text(6), result, connection);
  const std::size_t points = result.x.size(), validated = result.validation_y.size();
  const bool fits =
      result.y.size() == points ? validated == 0 || validated == points : result.y.empty() && validated == points;
  if (!fits) connection.check(SQLITE_CORRUPT);
  return StoredRun{std::move(result), query.number(7).value_or(0), query.text(8), query.text(9)};
}

void Store::add(const RunConfig& config, const StoredRun& run) { add_key(config.text(), run); }

void Store::add_key(const std::string& key, const StoredRun& run) {
  Statement insert(database_->connection, "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_run(insert, key, run).step();
}

// False if it is there already.
bool Store::add_conflict(const std::string& key, const StoredRun& run, const std::string& folder) {
  const Connection& connection = database_->connection;
  connection.run(conflict_schema);
  Statement insert(connection, "INSERT OR IGNORE INTO conflict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_run(insert, key, run).bind(folder).step();
  return sqlite3_changes(connection.handle()) > 0;
}

std::uint64_t Store::conflicts() const {
  const Connection& connection = database_->connection;
  if (!Statement(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'conflict'").step()) return 0;
  Statement count(connection, "SELECT count(*) FROM conflict");
  return count.step() ? count.count(0).value_or(0) : 0;
}

MergeReport Store::merge(const Store& other) {
  const Connection& connection = database_->connection;
  MergeReport report;
  connection.run("BEGIN");
  try {
    Statement keys(other.database_->connection, "SELECT config FROM run ORDER BY rowid");
    while (keys.step()) {
      const std::string key = keys.text(0);
      const auto theirs = other.find_key(key);
      const auto ours = find_key(key);
      if (!ours) {
        add_key(key, theirs.value());
        ++report.added;
      } else if (have_same_bits(ours->result, theirs.value().result)) {
        ++report.equal;
      } else {
        add_conflict(key, *theirs, std::filesystem::absolute(other.folder()).lexically_normal().string());
        report.conflicts.push_back(key);
      }
    }
    merge_experiments(other, report);
    connection.run("COMMIT");
  } catch (...) {
    sqlite3_exec(connection.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return report;
}

void Store::merge_experiments(const Store& other, MergeReport& report) {
  const auto ours = experiments();
  for (const StoredExperiment& theirs : other.experiments()) {
    const auto known = std::ranges::find(ours, theirs.name, &StoredExperiment::name);
    if (known == ours.end()) {
      put(theirs);
      add_wall_seconds(theirs.name, theirs.wall_seconds);
    } else if (known->file != theirs.file || !(known->options == theirs.options)) {
      report.experiments.push_back(theirs.name);
    }
  }
}

std::vector<StoredExperiment> Store::experiments() const {
  Statement query(database_->connection,
                  "SELECT name, file, quick, seeds, command, wall_seconds FROM experiment ORDER BY rowid");
  std::vector<StoredExperiment> all;
  while (query.step()) {
    const auto seeds = query.count(3);
    if (seeds && (*seeds == 0 || *seeds > most_seeds)) database_->connection.refuse(SQLITE_CORRUPT);
    all.push_back({query.text(0),
                   query.text(1),
                   {query.count(2).value_or(0) != 0, seeds},
                   query.text(4),
                   query.number(5).value_or(0)});
  }
  return all;
}

void Store::put(const StoredExperiment& experiment) {
  Statement insert(database_->connection,
                   "INSERT INTO experiment VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (name) DO UPDATE SET "
                   "file = excluded.file, quick = excluded.quick, seeds = excluded.seeds, command = excluded.command");
  insert.bind(experiment.name)
      .bind(experiment.file)
      .bind(std::optional<std::uint64_t>(experiment.options.quick ? 1 : 0))
      .bind(experiment.options.seeds)
      .bind(experiment.command)
      .step();
}

void Store::add_wall_seconds(const std::string& experiment, double seconds) {
  Statement update(database_->connection, "UPDATE experiment SET wall_seconds = wall_seconds + ? WHERE name = ?");
  update.bind(std::optional(seconds)).bind(experiment).step();
}

namespace fs = std::filesystem;

UnfinishedRuns::UnfinishedRuns(const fs::path& results) : folder_(results / "unfinished") {}

UnfinishedRuns::~UnfinishedRuns() {
  ::rmdir(folder_.c_str());  // fails unless the folder is empty
}

void UnfinishedRuns::make_folder() const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (!failed) return;
  throw FileError(
      fmt::format("cannot make the folder {} ({}); choose another with --out", quoted_path(folder_), failed.message()));
}

fs::path UnfinishedRuns::path_of(const RunConfig& config) const {
  const std::string text = config.text();
  return folder_ / fmt::format("{:016x}.ignd", XXH3_64bits(text.data(), text.size()));
}

void UnfinishedRuns::remove(const RunConfig& config) const {
  const std::string name = path_of(config).filename().string();
  std::error_code failed;  // a file that stays does no harm
  for (fs::directory_iterator file(folder_, failed), end; !failed && file != end; file.increment(failed)) {
    std::error_code stays;
    if (file->path().filename().string().starts_with(name)) fs::remove(file->path(), stays);
  }
}

}  // namespace ignd
