#pragma once

#include <utility>

#include <unistd.h>

namespace ignd {

// Owns a file descriptor and closes it. Negative numbers, which failed system calls return, mean none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int operator*() const { return number_; }

 private:
  int number_;
};

}  // namespace ignd
