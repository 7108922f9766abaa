#include "data/example_reader.hpp"

#include "base/pinned.hpp"
#include "base/text.hpp"
#include "data/example_parser.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A block on its way from the file to the caller, with its buffers.
struct ParsedBlock {
  LineBlock lines;
  ExampleBlock examples;
  std::uint64_t skipped = 0;
  std::optional<RowFault> first_skipped;
  bool is_last = false;
  std::exception_ptr error;  // thrown after the examples
};

bool parses(const ExampleParser& parser, std::string_view line) {
  ExampleBlock block;
  return parser.parse_line(line, 1, block).empty() && !block.index.empty();
}

bool has_two_rows(std::string_view text) {
  int rows = 0;
  while (rows < 2 && !text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    if (text.substr(0, newline).find_first_not_of(" \t\r") != std::string_view::npos) ++rows;
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return rows == 2;
}

}  // namespace

const std::vector<FormatInfo>& format_table() {
  using Made = std::unique_ptr<ExampleParser>;
  static const std::vector<FormatInfo> formats{
      {.name = "csv", .format = ExampleFormat::csv},
      {.name = "tsv", .format = ExampleFormat::csv, .delimiter = '\t'},
      // Before vw, because a comment may contain a bar.
      {.name = "svmlight",
       .format = ExampleFormat::svmlight,
       .line = "LABEL INDEX:VALUE ...",
       .make_parser = [] { return Made(std::make_unique<SvmlightParser>()); }},
      {.name = "vw", .format = ExampleFormat::vw, .line = "LABEL | NAME ...", .makes_tables = false, .make_parser = [] {
         return Made(std::make_unique<VwTextParser>());
       }}};
  return formats;
}

const FormatInfo& format_info(ExampleFormat format) {
  return *std::ranges::find(format_table(), format, &FormatInfo::format);
}

const FormatInfo* find_format(std::string_view name) {
  const auto found = std::ranges::find(format_table(), name, &FormatInfo::name);
  return found == format_table().end() ? nullptr : &*found;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const FormatInfo& info : format_table()) names.push_back(info.name);
  return names;
}

unsigned useful_threads() {
  constexpr unsigned most = 2;
  return std::clamp(std::thread::hardware_concurrency(), 1U, most);
}

std::unique_ptr<ExampleParser> make_example_parser(ExampleFormat format) {
  if (const FormatInfo& info = format_info(format); info.make_parser != nullptr) return info.make_parser();
  throw InvalidArgument("comma-separated values need the names of their columns");
}

std::optional<ExampleFormat> guess_example_format(std::string_view first_bytes) {
  while (!first_bytes.empty()) {
    const std::size_t newline = std::min(first_bytes.find('\n'), first_bytes.size());
    std::string_view line = first_bytes.substr(0, newline);
    if (newline == first_bytes.size()) {
      // The last word may be incomplete.
      line = line.substr(0, std::min(line.find_last_of(" \t"), line.size()));
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const FormatInfo& info : format_table()) {
      if (info.make_parser != nullptr && parses(*info.make_parser(), line)) return info.format;
    }
    first_bytes.remove_prefix(std::min(newline + 1, first_bytes.size()));
  }
  return {};
}

// Makes blocks in two steps: only one thread at a time may cut(), any number may parse().
class ExampleReader::Blocks {
 public:
  Blocks(std::unique_ptr<ByteSource> source, std::optional<ExampleFormat> asked_format,
         const ExampleReaderOptions& options)
      : lines_(std::move(source), options.block_size),
        bad_rows_(options.bad_rows),
        format_(asked_format ? *asked_format : guess_format(options)),
        parser_(make_parser(options)) {}

  void cut(ParsedBlock& block) {
    block.error = nullptr;
    try {
      if (looked_at_) {
        block.lines = std::move(*looked_at_);
        looked_at_.reset();
        block.is_last = false;
      } else {
        block.is_last = !lines_.next(block.lines);
      }
    } catch (...) {
      block.error = std::current_exception();
      block.is_last = true;
    }
    if (block.is_last) block.lines.size = 0;
  }

  void parse(ParsedBlock& block) {
    block.examples.clear();
    block.skipped = 0;
    block.first_skipped.reset();
    try {
      ParseResult result = parser_->parse(block.lines.text(), block.lines.first_line, bad_rows_, block.examples);
      block.skipped = result.skipped;
      block.first_skipped = std::move(result.first_skipped);
      if (!result.stopped_at) return;
      block.error = std::make_exception_ptr(FileError(
          fmt::format("{}, line {}: {}", lines_.source().name(), result.stopped_at->line, result.stopped_at->fault)));
    } catch (...) {
      block.error = std::current_exception();
    }
    block.is_last = true;
  }

  ParsedBlock& make_next() {
    cut(own_);
    parse(own_);
    return own_;
  }

  ExampleFormat format() const { return format_; }
  std::string target_name(double target) const {
    return csv_ != nullptr ? csv_->target_name(target) : format_number(target);
  }
  bool has_text_target() const { return csv_ != nullptr && csv_->has_text_target(); }
  std::vector<std::string> features() const { return csv_ != nullptr ? csv_->features() : std::vector<std::string>(); }
  std::string header_note() const { return csv_ != nullptr ? csv_->header_note() : ""; }
  std::map<std::string, CellFormat> formats() const {
    return csv_ != nullptr ? csv_->formats() : std::map<std::string, CellFormat>();
  }
  void stop_waiting() { lines_.source().stop_waiting(); }

 private:
  // The first lines, which are delivered again later. Empty if there are none.
  std::string_view beginning() {
    if (!looked_at_ && !lines_.next(looked_at_.emplace())) looked_at_.reset();
    return looked_at_ ? looked_at_->text() : std::string_view();
  }

  // Waits for a row below the header, without which the columns cannot be told.
  std::string_view beginning_with_row() {
    std::string_view text = beginning();
    LineBlock more;
    while (!text.empty() && !has_two_rows(text) && lines_.next(more)) {
      looked_at_->bytes.resize(looked_at_->size);
      looked_at_->bytes.insert(looked_at_->bytes.end(), more.text().begin(), more.text().end());
      looked_at_->size += more.size;
      text = looked_at_->text();
    }
    return text;
  }

  std::unique_ptr<ExampleParser> make_parser(const ExampleReaderOptions& options) {
    if (format_ != ExampleFormat::csv) return make_example_parser(format_);
    const std::string_view text = beginning_with_row();
    if (!options.columns) refuse_without_target(list_columns(text, options.dialect));
    auto parser = std::make_unique<CsvExampleParser>(text, *options.columns, options.dialect, lines_.source().name());
    csv_ = parser.get();
    return parser;
  }

  [[noreturn]] void refuse_without_target(const std::string& columns) {
    throw InvalidArgument(fmt::format("{} holds comma-separated values: name the column to predict with --target{}",
                                      lines_.source().name(), columns));
  }

  ExampleFormat guess_format(const ExampleReaderOptions& options) {
    const std::string_view text = beginning();
    if (text.empty()) return options.columns ? ExampleFormat::csv : ExampleFormat::svmlight;
    const auto guess = guess_example_format(text);
    if (guess) return *guess;
    if (options.columns) return ExampleFormat::csv;
    if (const std::string columns = list_columns(text, options.dialect); !columns.empty()) {
      refuse_without_target(columns);
    }
    std::vector<std::string> known;
    for (const FormatInfo& info : format_table()) {
      if (!info.line.empty()) known.push_back(fmt::format("{} ({})", info.name, info.line));
    }
    throw FileError(
        fmt::format("{} does not begin with lines of {}; for comma-separated values, name the target's column",
                    lines_.source().name(), join(known, " or ")));
  }

  LineBlocks lines_;
  BadRows bad_rows_;
  std::optional<LineBlock> looked_at_;  // the first block, if it was needed to guess
  ExampleFormat format_;
  const CsvExampleParser* csv_ = nullptr;  // the parser, if it is one
  std::unique_ptr<const ExampleParser> parser_;
  ParsedBlock own_;
};

// Threads that make blocks ahead of the caller, in a ring buffer: block n is in place n modulo its size.
class ExampleReader::ReadAhead : Pinned {
 public:
  ReadAhead(Blocks& blocks, unsigned threads) : blocks_(blocks), places_(threads + 2) {
    for (unsigned i = 0; i < threads; ++i) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // out of threads; the started ones do the work
        if (threads_.empty()) throw FileError("cannot start a thread to read with; use one thread");
        return;
      }
    }
  }
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    blocks_.stop_waiting();
    for (auto& thread : threads_) thread.join();
  }

  // The next block in the order of the file. It stays valid until give_back().
  ParsedBlock& front() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return place(given_).ready; });
    return place(given_).block;
  }

  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      place(given_).ready = false;
      ++given_;
    }
    changed_.notify_all();
  }

 private:
  struct Place {
    ParsedBlock block;
    bool ready = false;
  };

  Place& place(std::uint64_t number) { return places_[number % places_.size()]; }

  void work() {
    while (Place* const mine = cut_next()) {
      blocks_.parse(mine->block);
      {
        const std::lock_guard lock(mutex_);
        mine->ready = true;
      }
      changed_.notify_all();
    }
  }

  // Null if nothing is left to do.
  Place* cut_next() {
    const std::lock_guard only_one(cutting_);
    if (all_cut_) return nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || cut_ - given_ < places_.size(); });
      if (closing_) return nullptr;
    }
    Place& mine = place(cut_++);
    blocks_.cut(mine.block);
    all_cut_ = mine.block.is_last;
    return &mine;
  }

  Blocks& blocks_;
  std::vector<Place> places_;
  std::mutex cutting_;     // guards cut_ and all_cut_
  std::uint64_t cut_ = 0;  // number of blocks cut
  bool all_cut_ = false;
  std::mutex mutex_;  // guards the members below and Place::ready
  std::condition_variable changed_;
  std::uint64_t given_ = 0;  // number of blocks given back
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

ExampleReader::ExampleReader(const std::string& path, std::optional<ExampleFormat> format,
                             const ExampleReaderOptions& options)
    : ExampleReader(open_bytes(path, options.interruption), format, options) {}

ExampleReader::ExampleReader(std::unique_ptr<ByteSource> source, std::optional<ExampleFormat> format,
                             const ExampleReaderOptions& options)
    : blocks_(std::make_unique<Blocks>(std::move(source), format, options)) {
  if (options.threads > 1) ahead_ = std::make_unique<ReadAhead>(*blocks_, options.threads - 1);
}

ExampleReader::~ExampleReader() = default;

ExampleFormat ExampleReader::format() const { return blocks_->format(); }

bool ExampleReader::has_text_target() const { return blocks_->has_text_target(); }

std::vector<std::string> ExampleReader::features() const { return blocks_->features(); }

std::string ExampleReader::header_note() const { return blocks_->header_note(); }

std::map<std::string, CellFormat> ExampleReader::formats() const { return blocks_->formats(); }

std::string ExampleReader::target_name(double target) const { return blocks_->target_name(target); }

bool ExampleReader::next(ExampleBlock& block) {
  block.clear();
  while (!ended_ && block.size() == 0) {
    ParsedBlock& made = ahead_ ? ahead_->front() : blocks_->make_next();
    std::swap(block, made.examples);
    skipped_ += made.skipped;
    if (!first_skipped_) first_skipped_ = std::move(made.first_skipped);
    ended_ = made.is_last;
    error_ = std::move(made.error);  // moved, so that no other thread shares it
    if (ahead_) ahead_->give_back();
  }
  if (block.size() > 0) return true;
  if (error_) std::rethrow_exception(error_);
  return false;
}

}  // namespace ignd
