#pragma once

#include "base/communicator.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Ranks that are threads of the test.
namespace ignd::testing {

class LocalRanks {
 public:
  explicit LocalRanks(int size) : boxes_(static_cast<std::size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(*this, rank));
  }

  Communicator& operator[](int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }

 private:
  class Rank final : public Communicator {
   public:
    Rank(LocalRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(all_.boxes_.size()); }
    unsigned cores() const override { return 1; }
    void send(int to, std::string bytes) override {
      const std::lock_guard lock(all_.mutex_);
      all_.boxes_.at(static_cast<std::size_t>(to)).push_back({rank_, std::move(bytes)});
    }
    std::optional<Message> receive() override {
      const std::lock_guard lock(all_.mutex_);
      auto& box = all_.boxes_.at(static_cast<std::size_t>(rank_));
      if (box.empty()) return std::nullopt;
      Message first = std::move(box.front());
      box.pop_front();
      return first;
    }

   private:
    LocalRanks& all_;
    int rank_;
  };

  std::mutex mutex_;
  std::vector<std::deque<Message>> boxes_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace ignd::testing
