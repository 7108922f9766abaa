#include "cli/console.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ignd::cli {
namespace {

constexpr const char* line_start = "\r\x1b[K";  // and clears the line

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json numbers(std::span<const double> values) {
  auto array = nlohmann::ordered_json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

}  // namespace

std::string lines_for_terminal(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    out += for_terminal(text.substr(0, end)) + '\n';
  }
  return out + for_terminal(text);
}

bool print_data(std::string_view data) {
  const std::string lines = ::isatty(STDOUT_FILENO) != 0 ? lines_for_terminal(data) : "";
  const std::string_view text = lines.empty() ? data : lines;
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=:,@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit, bool quiet)
    : what_(std::move(what)), total_(total), unit_(std::move(unit)), visible_(!quiet && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

bool Progress::is_due() const {
  constexpr std::chrono::milliseconds pause(100);
  return visible_ && Clock::now() - last_ >= pause;
}

void Progress::update(std::uint64_t done) {
  if (!started_) {
    started_ = true;
    first_ = done;
    start_ = last_ = Clock::now();
  }
  if (!is_due()) return;
  const double rate = static_cast<double>(done - first_) / std::chrono::duration<double>(Clock::now() - start_).count();
  const double left = rate > 0 ? static_cast<double>(total_ - std::min(done, total_)) / rate : 0;
  show(static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total_, 1)),
       fmt::format("{:.3g} {}/s  {} left", rate, unit_, duration_text(std::ceil(left))));
}

void Progress::show(double share, const std::string& words) {
  if (!is_due()) return;
  last_ = Clock::now();
  drawn_ = true;
  constexpr std::size_t width = 24;
  const double shown = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(shown * width);
  std::fputs(line_start, stderr);
  print_error("{} [{}{}] {:3.0f} %  {}", what_, std::string(full, '#'), std::string(width - full, '.'), 100 * shown,
              words);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs(line_start, stderr);
  std::fflush(stderr);
}

struct JsonLine::Object {  // NOLINT(bugprone-exception-escape): what its destructor calls throws nothing
  nlohmann::ordered_json json;

  nlohmann::ordered_json& at(std::string_view name) {
    nlohmann::ordered_json* place = &json;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
      place = &(*place)[std::string(name.substr(0, dot))];
      name.remove_prefix(dot + 1);
    }
    return (*place)[std::string(name)];
  }
};

JsonLine::JsonLine() : object_(std::make_unique<Object>()) { object_->json = nlohmann::ordered_json::object(); }
JsonLine::JsonLine(std::string_view event) : JsonLine() { object_->json["event"] = std::string(event); }
JsonLine::~JsonLine() = default;
JsonLine::JsonLine(JsonLine&&) noexcept = default;

JsonLine& JsonLine::set(std::string_view name, double value) {
  object_->at(name) = number(value);
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::optional<double> value) {
  return set(name, value.value_or(std::nan("")));
}

JsonLine& JsonLine::set(std::string_view name, std::uint64_t value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, const std::string& value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, const char* value) { return set(name, std::string(value)); }

JsonLine& JsonLine::set(std::string_view name, bool value) {
  object_->at(name) = value;
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::span<const double> values) {
  object_->at(name) = numbers(values);
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::span<const std::string> values) {
  object_->at(name) = std::vector<std::string>(values.begin(), values.end());
  return *this;
}

JsonLine& JsonLine::set(std::string_view name, std::span<const JsonLine> parts) {
  auto& array = object_->at(name) = nlohmann::ordered_json::array();
  for (const JsonLine& part : parts) array.push_back(part.object_->json);
  return *this;
}

JsonLine& JsonLine::set_rows(std::string_view name, std::span<const double> values, std::size_t width) {
  auto& rows = object_->at(name) = nlohmann::ordered_json::array();
  for (; !values.empty(); values = values.subspan(width)) rows.push_back(numbers(values.first(width)));
  return *this;
}

std::string JsonLine::text() const {
  // Replaces bytes that are not UTF-8, perhaps in a column's name: readers of JSON would stop at them.
  return object_->json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void JsonLine::print() const {
  print_data(text() + "\n");
  std::fflush(stdout);
}

}  // namespace ignd::cli
