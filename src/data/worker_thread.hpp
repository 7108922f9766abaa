#pragma once

#include "base/pinned.hpp"

#include <exception>
#include <functional>
#include <semaphore>
#include <thread>
#include <utility>

namespace ignd {

// A second thread that runs one task after the other, without the cost of starting a thread for each.
class WorkerThread : Pinned {
 public:
  WorkerThread() : thread_([this] { work(); }) {}
  ~WorkerThread() {
    if (busy_) done_.acquire();
    task_ = nullptr;
    begin_.release();
  }

  // What the task uses must live until finish() has returned or this object is destroyed.
  void start(std::function<void()> task) {
    task_ = std::move(task);
    busy_ = true;
    begin_.release();
  }

  // Waits for the task and rethrows its exception.
  void finish() {
    done_.acquire();
    busy_ = false;
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void work() {
    while (true) {
      begin_.acquire();
      if (!task_) return;
      try {
        task_();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      done_.release();
    }
  }

  std::function<void()> task_;
  std::exception_ptr thrown_;
  bool busy_ = false;  // the owner has not waited for the task yet
  std::binary_semaphore begin_{0};
  std::binary_semaphore done_{0};
  std::jthread thread_;
};

}  // namespace ignd
