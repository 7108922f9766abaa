#pragma once

#include "ignd/optimizer.hpp"
#include "lab/run_result.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// A setting that a task understands. Experiment files are checked against these, and docs/experiments.md lists them.
struct SettingKey {
  enum class Kind { number, count, flag, word, matrix };

  std::string name;
  Kind kind = Kind::number;
  std::string otherwise;             // the value where none is given, written as in a file; a matrix may have none
  double low = 0, high = 0;          // of a number or a count
  std::vector<std::string> choices;  // of a word; empty: any text
  std::string meaning;               // one line
};

// A value for every setting of a task, checked against its key, as text: "0.99", "true", "8x8", "[[1,0],[0,1]]".
class Settings {
 public:
  Settings() = default;
  explicit Settings(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  double number(const std::string& name) const;
  std::uint64_t count(const std::string& name) const;
  bool flag(const std::string& name) const;
  const std::string& word(const std::string& name) const;
  std::vector<std::vector<double>> matrix(const std::string& name) const;  // empty where none was given

  const std::map<std::string, std::string>& values() const { return values_; }
  bool operator==(const Settings&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

// Everything that a run depends on.
struct RunConfig {
  std::string task;
  Settings settings;
  Optimizer optimizer;
  double rate = 0;
  std::uint64_t seed = 0;

  // One line for each part, the same for the same run: the key of its result.
  std::string text() const;
};

// What a run is told from outside while it goes on.
class RunControl {
 public:
  // A run that nobody resumes.
  RunControl(const std::atomic<bool>& stop)  // NOLINT(google-explicit-constructor): a flag is all that most runs need
      : stop_(stop) {}
  RunControl(const std::atomic<bool>& stop, std::filesystem::path unfinished, std::atomic<double>* share)
      : stop_(stop), unfinished_(std::move(unfinished)), share_(share) {}

  const std::atomic<bool>& stop() const { return stop_; }

  // The file in which a long run may keep what it needs to go on, and finds what it kept; empty: there is none.
  const std::filesystem::path& unfinished() const { return unfinished_; }

  // How far the run is, between 0 and 1. A run that goes on says so as soon as it knows.
  void set_share(double done) const {
    if (share_ != nullptr) *share_ = done > 0 ? std::min(done, 1.0) : 0.0;
  }

 private:
  const std::atomic<bool>& stop_;
  std::filesystem::path unfinished_;
  std::atomic<double>* share_ = nullptr;
};

// Thrown by a run that was asked to stop: it leaves nothing behind but its unfinished file, if it keeps one.
struct RunStopped : std::runtime_error {
  RunStopped() : std::runtime_error("the run was stopped") {}
};

// A kind of run that experiment files can name.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;  // one line for the documentation
  virtual std::span<const SettingKey> keys() const = 0;

  // The further numbers that its runs give, and what each is: names that experiments may ask for as columns.
  struct Column {
    std::string name, meaning;
  };
  virtual std::vector<Column> columns() const { return {}; }

  // Whether its runs have a validation score, which rates can be chosen by.
  virtual bool validates() const { return false; }

  // What is wrong with settings that are each well-formed; one text each.
  virtual std::vector<std::string> faults(const Settings& settings) const = 0;

  // What a run with these settings lacks, such as a data set that is not here, and what to do about it; "" if nothing.
  virtual std::string missing(const Settings& /*settings*/) const { return ""; }

  // About how many seconds a run takes; the longest are started first. Asked for again and again: who measures keeps
  // what was measured.
  virtual double cost(const RunConfig& config) const = 0;

  // Whether the cost was measured on this machine. Otherwise it is a guess.
  virtual bool measures_cost() const { return false; }

  // Whether its runs keep what they need to go on after an interruption.
  virtual bool resumes() const { return false; }

  // The same result for the same configuration, always, interrupted or not. Looks at `control.stop()` every few
  // milliseconds and throws RunStopped; a run that resumes writes its unfinished file first.
  virtual RunResult run(const RunConfig& config, const RunControl& control) const = 0;
};

// Throws InvalidArgument, with the nearest known name, for a task that does not exist.
const Task& find_task(std::string_view name);
std::vector<std::string> task_names();

}  // namespace ignd
