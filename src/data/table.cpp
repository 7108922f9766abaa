#include "data/table.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/csv.hpp"
#include "data/csv_parser.hpp"
#include "data/example_reader.hpp"
#include "data/worker_thread.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

namespace ignd {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

// A file without a name, which exists only while it is open.
Descriptor open_nameless() {
  const std::string folder = temporary_folder().string();
  Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) {  // not supported by every file system
    std::string path = folder + "/ignd-XXXXXX";
    file = Descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (file.is_open()) unlink(path.c_str());
  }
  if (!file.is_open()) {
    throw FileError(fmt::format("cannot create a file for the data in {}: {}; set TMPDIR to a folder with space",
                                quoted_path(folder), std::strerror(errno)));
  }
  return file;
}

}  // namespace

RowStore::RowStore(std::size_t width, std::size_t memory)
    : width_(width),
      memory_(memory),
      rows_per_chunk_(std::max<std::size_t>(1, chunk_bytes / std::max<std::size_t>(1, width * sizeof(double)))) {}

RowStore::RowStore(RowStore&& other) noexcept
    : width_(other.width_),
      memory_(other.memory_),
      rows_per_chunk_(other.rows_per_chunk_),
      size_(std::exchange(other.size_, 0)),
      chunks_(std::exchange(other.chunks_, {})),
      file_(std::move(other.file_)),
      file_bytes_(other.file_bytes_) {}

RowStore::~RowStore() {
  for (double* chunk : chunks_) munmap(chunk, rows_per_chunk_ * width_ * sizeof(double));
}

double* RowStore::new_chunk() {
  const std::size_t bytes = rows_per_chunk_ * width_ * sizeof(double);
  void* at = MAP_FAILED;
  if ((chunks_.size() + 1) * bytes <= memory_) {
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) madvise(at, bytes, MADV_HUGEPAGE);  // most of the cost is touching pages for the first time
  } else {
    if (!file_.is_open()) file_ = open_nameless();
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t offset = file_bytes_;
    // Allocate the space before writing to it: a full disk is then an error and not a fatal signal.
    int fault = EINTR;
    while (fault == EINTR) fault = posix_fallocate(*file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (fault != 0) {
      throw FileError(fmt::format("cannot keep the data in {}: {}; set TMPDIR to a folder with more space",
                                  quoted_path(temporary_folder()), std::strerror(fault)));
    }
    file_bytes_ += (bytes + page - 1) / page * page;
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file_, static_cast<off_t>(offset));
  }
  if (at == MAP_FAILED) throw FileError(fmt::format("cannot map memory for the data: {}", std::strerror(errno)));
  chunks_.push_back(static_cast<double*>(at));
  return chunks_.back();
}

void RowStore::append(std::span<const double> rows) {
  std::size_t count = rows.size() / width_;
  const double* from = rows.data();
  while (count > 0) {
    const std::size_t in_chunk = size_ % rows_per_chunk_;
    double* chunk = in_chunk == 0 ? new_chunk() : chunks_.back();
    const std::size_t fits = std::min(count, rows_per_chunk_ - in_chunk);
    std::copy_n(from, fits * width_, chunk + in_chunk * width_);
    from += fits * width_;
    size_ += fits;
    count -= fits;
  }
}

std::uint64_t text_code(std::string_view text) {
  constexpr std::uint64_t bits_of_a_double = (std::uint64_t{1} << 53) - 1;
  return XXH3_64bits(text.data(), text.size()) & bits_of_a_double;
}

Table::Table(std::vector<Column> columns, RowStore rows, CsvDialect dialect)
    : columns_(std::move(columns)), rows_(std::move(rows)), dialect_(std::move(dialect)) {}

Table Table::of_numbers(const std::vector<std::string>& names, std::span<const double> rows) {
  std::vector<Column> columns;
  columns.reserve(names.size());
  for (const std::string& name : names) columns.push_back({.name = name, .kind = ColumnKind::number, .labels = {}});
  RowStore store(names.size());
  store.append(rows);
  return {std::move(columns), std::move(store), {}};
}

Table Table::above_median(std::size_t column) const {
  if (columns_[column].kind != ColumnKind::number) {
    throw InvalidArgument(
        fmt::format("the column {} holds texts, which have no median", in_quotes(columns_[column].name)));
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!std::isnan(rows_[i][column])) numbers.push_back(rows_[i][column]);
  }
  std::ranges::sort(numbers);
  const double median = numbers.empty() ? 0 : numbers[numbers.size() / 2];
  RowStore rows(rows_.width());
  std::vector<double> row;
  for (std::size_t i = 0; i < size(); ++i) {
    row.assign(rows_[i].begin(), rows_[i].end());
    if (!std::isnan(row[column])) row[column] = row[column] > median ? 1 : 0;
    rows.append(row);
  }
  Table made(columns_, std::move(rows), dialect_);
  made.header_note_ = header_note_;
  made.bad_rows_ = bad_rows_;
  made.first_fault_ = first_fault_;
  return made;
}

std::vector<std::string> Table::kept(std::size_t row) const {
  std::vector<std::string> fields;
  for (const std::size_t place : kept_order_) fields.push_back(kept_[row * kept_width_ + place]);
  return fields;
}

std::size_t Table::find(std::string_view column) const {
  std::vector<std::string> names(columns_.size());
  std::ranges::transform(columns_, names.begin(), &Column::name);
  return find_column(names, column, header_note_);
}

namespace {

// Where to cut a text into two halves of complete rows. The end of the text if quotes might hide a line end.
std::size_t middle_row(std::string_view text) {
  if (text.find('"') != std::string_view::npos) return text.size();
  const std::size_t line = text.find('\n', text.size() / 2);
  return line == std::string_view::npos ? text.size() : line + 1;
}

// Reads the rows below the header block by block, the two halves of a block in parallel.
class CsvLoader {
 public:
  CsvLoader(TextWindow& text, const std::vector<CsvColumn>& columns, const CsvHead& head, const CsvPart::Rules& rules,
            const TableOptions& options)
      : text_(text),
        line_(head.line),
        store_(columns.size(), options.memory),
        block_(std::max<std::size_t>(1, options.block) * (options.threads > 1 ? 2 : 1)),
        look_(block_),
        first_(columns, head.delimiter, rules) {
    if (options.threads < 2) return;
    second_.emplace(columns, head.delimiter, rules);
    side_.emplace();
  }

  void load_block() {
    text_.fill(look_);
    const std::string_view text = text_.text().substr(0, look_);
    const std::size_t used = parse(text, text_.ended() && text.size() == text_.text().size());
    text_.drop(used);
    look_ = used > 0 || text.empty() ? block_ : more_bytes(look_, text_, line_);
  }
  bool done() const { return text_.ended() && text_.text().empty(); }

  // A numeric column turned out not to be one: no more rows are kept.
  bool changed() const { return changed_; }
  bool not_numbers(std::size_t column) const {
    return first_.reader(column).not_numbers() || (second_ && second_->reader(column).not_numbers());
  }

  FormatGuess guess(std::size_t column) const {
    FormatGuess guess = first_.reader(column).guess();
    if (second_) guess.merge(second_->reader(column).guess());
    return guess;
  }
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }
  const std::string& first_fault() const { return first_fault_; }

  // These move out what has been read.
  std::vector<std::string> kept() { return std::move(kept_); }
  RowStore rows() { return std::move(store_); }
  Labels labels(std::size_t column) {
    Labels labels = std::move(first_.reader(column).labels());
    if (second_) labels.merge(second_->reader(column).labels());
    if (labels.size() > most_labels) labels.clear();
    return labels;
  }

 private:
  std::size_t parse(std::string_view text, bool all) {
    const std::size_t cut = second_ ? middle_row(text) : text.size();
    if (cut == text.size()) {
      const std::size_t used = first_.parse(text, all, line_);
      keep(first_, 0);
      return used;
    }
    // The second half counts lines from zero, since the number of lines before it is not known yet.
    side_->start([this, half = text.substr(cut), all] { second_used_ = second_->parse(half, all, 0); });
    first_.parse(text.substr(0, cut), false, line_);
    side_->finish();
    keep(first_, 0);
    keep(*second_, line_);
    return cut + second_used_;
  }

  void keep(CsvPart& part, std::uint64_t lines_before) {
    if (const auto& fault = part.fault()) {
      const std::string row = fault->is_field ? fmt::format(" (row {})", store_.size() + part.rows() + 1) : "";
      throw FileError(fmt::format("{}, line {}{}: {}", text_.name(), lines_before + fault->line, row, fault->what));
    }
    line_ = lines_before + part.next_line();
    changed_ = changed_ || part.changed();
    if (changed_) return;
    if (const auto& fault = part.first_bad_row(); fault && bad_rows_.empty()) {
      first_fault_ = fmt::format("line {}: {}", lines_before + fault->line, fault->what);
    }
    for (const std::size_t row : part.bad_rows()) bad_rows_.push_back(store_.size() + row);
    std::ranges::move(part.kept(), std::back_inserter(kept_));
    store_.append(part.values());
  }

  TextWindow& text_;
  std::uint64_t line_;
  RowStore store_;
  std::size_t block_;
  std::size_t look_;  // bytes to parse next; more than a block for a longer row
  bool changed_ = false;
  std::vector<std::size_t> bad_rows_;
  std::string first_fault_;
  std::vector<std::string> kept_;
  CsvPart first_;
  std::optional<CsvPart> second_;
  std::size_t second_used_ = 0;
  std::optional<WorkerThread> side_;
};

[[noreturn]] void refuse_to_read_again(const TextWindow& text, const std::vector<std::string>& names) {
  std::vector<std::string> quoted(names.size());
  std::ranges::transform(names, quoted.begin(), [](const std::string& name) { return in_quotes(name); });
  throw FileError(
      fmt::format("{}, column {}: began with numbers, but has other values; use a file, which can be read again",
                  text.name(), join(quoted, " and ")));
}

}  // namespace

Table Table::load_csv(const OpenBytes& open, bool can_open_again, const TableOptions& options) {
  ColumnPlan plan({options.texts.begin(), options.texts.end()}, options.formats, options.decimal_comma);
  while (true) {
    TextWindow text(open());
    const CsvHead head = read_csv_head(text, options.dialect);
    const std::vector<CsvColumn> read_as = plan.columns(head.names, text.text(), head.delimiter);
    CsvPart::Rules rules{
        .names = head.names, .keep = std::vector<bool>(head.names.size()), .skip_bad_rows = options.skip_bad_rows};
    for (const std::string& name : options.keep) rules.keep[find_column(head.names, name, head.header_note)] = true;
    CsvLoader loader(text, read_as, head, rules, options);
    while (!loader.done() && (can_open_again || !loader.changed())) loader.load_block();
    std::vector<Column> columns;
    std::vector<std::string> changed;
    bool again = false;
    for (std::size_t c = 0; c < head.names.size(); ++c) {
      const std::string& name = head.names[c];
      columns.push_back({.name = name, .kind = read_as[c].kind, .labels = {}, .format = read_as[c].format});
      if (loader.not_numbers(c)) {
        changed.push_back(name);
        plan.watch(name);
      } else if (read_as[c].watched) {
        const FormatGuess guess = loader.guess(c);
        const auto format = plan.decide(guess);
        again = again || format.has_value();
        if (format) plan.take(name, *format);
        columns[c].doubt =
            format ? fmt::format("all of its cells are a {}, but only a file can be read again", format->describe())
                   : plan.doubt(guess);
      }
    }
    if (!changed.empty() && !can_open_again) refuse_to_read_again(text, changed);
    if ((again && can_open_again) || !changed.empty()) continue;
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].labels = loader.labels(c);
    RowStore rows = loader.rows();
    if (rows.size() == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
    Table table(std::move(columns), std::move(rows), {head.delimiter, head.header});
    table.header_note_ = head.header_note;
    table.bad_rows_ = loader.bad_rows();
    table.first_fault_ = loader.first_fault();
    table.kept_ = loader.kept();
    table.kept_width_ = static_cast<std::size_t>(std::ranges::count(rules.keep, true));
    for (const std::string& name : options.keep) {
      const auto place = static_cast<std::ptrdiff_t>(find_column(head.names, name));
      table.kept_order_.push_back(
          static_cast<std::size_t>(std::count(rules.keep.begin(), rules.keep.begin() + place, true)));
    }
    return table;
  }
}

Table Table::read_csv(const std::string& path, const TableOptions& options) {
  std::error_code unknown;  // opening the file will report the error
  const bool is_file = path != "-" && std::filesystem::is_regular_file(path, unknown);
  return load_csv([&] { return open_bytes(path); }, is_file, options);
}

Table Table::parse_csv(std::string_view text, const TableOptions& options) {
  return load_csv([&] { return bytes_of(text, "the text"); }, true, options);
}

std::string list_columns(std::string_view beginning, const CsvDialect& dialect) {
  std::vector<Column> columns;
  try {
    // The last row may be incomplete.
    const std::size_t newline = beginning.rfind('\n');
    columns = Table::parse_csv(beginning.substr(0, newline), {.dialect = dialect}).columns();
  } catch (const Error&) {
    return "";
  }
  if (columns.size() < 2) return "";
  constexpr std::size_t most = 20;
  std::vector<std::string> listed;
  for (const Column& column : std::span(columns).first(std::min(columns.size(), most))) {
    const bool number = column.kind == ColumnKind::number;
    listed.push_back(fmt::format("{} ({})", in_quotes(column.name), number ? column.format.describe() : "text"));
  }
  if (columns.size() > most) listed.push_back(fmt::format("and {} more", columns.size() - most));
  return ": " + join(listed, ", ");
}

Table Table::read(const std::string& path, const TableOptions& options) {
  std::error_code unknown;  // opening the file will report the error
  if (!std::filesystem::is_regular_file(path, unknown)) return read_csv(path, options);  // a pipe can be read only once
  constexpr std::size_t enough = std::size_t{1} << 16;
  TextWindow beginning(open_bytes(path));
  beginning.fill(enough);
  const bool sparse = guess_example_format(beginning.text()) == ExampleFormat::svmlight;
  return sparse ? read_svmlight(path, options) : read_csv(path, options);
}

Table Table::read_svmlight(const std::string& path, const TableOptions& options) {
  constexpr std::uint32_t most_features = 2000;
  const auto for_each_block = [&](const auto& visit) {
    ExampleReader reader(path, ExampleFormat::svmlight, {.threads = options.threads});
    ExampleBlock block;
    while (reader.next(block)) visit(block);
  };
  // The rows of a table have one width: a first pass finds the number of features, a second one reads them.
  std::error_code unknown;
  if (path == "-" || std::filesystem::is_fifo(path, unknown)) {
    throw FileError("svmlight from a pipe: use a file, which can be read twice, or --stream");
  }
  std::uint32_t width = 0;
  std::size_t rows = 0;
  for_each_block([&](const ExampleBlock& block) {
    rows += block.size();
    for (const std::uint32_t index : block.index) {
      if (index <= most_features) {
        width = std::max(width, index);
        continue;
      }
      throw FileError(fmt::format("{} has the feature {}, but a table may have at most {}; use --stream",
                                  quoted_path(path), index, most_features));
    }
  });
  if (rows == 0) throw FileError(fmt::format("{} is empty", quoted_path(path)));

  std::vector<Column> columns{{.name = "label", .kind = ColumnKind::number, .labels = {}}};
  for (std::uint32_t i = 0; i <= width; ++i) columns.push_back({.name = std::to_string(i), .labels = {}});
  RowStore store(columns.size(), options.memory);
  std::vector<double> row(columns.size());
  for_each_block([&](const ExampleBlock& block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::ranges::fill(row, 0.0);
      row[0] = block.target[i];
      const auto index = block.indices(i);
      for (std::size_t k = 0; k < index.size(); ++k) row[1 + index[k]] += static_cast<double>(block.values(i)[k]);
      store.append(row);
    }
  });
  return {std::move(columns), std::move(store), {}};
}

}  // namespace ignd
