#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace ignd::testing {

// Sets a variable of the environment, or takes it away, until the end of the scope.
class Variable {
 public:
  Variable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    put(value);
  }
  ~Variable() { put(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  Variable(Variable&&) = delete;
  Variable& operator=(Variable&&) = delete;

 private:
  void put(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace ignd::testing
