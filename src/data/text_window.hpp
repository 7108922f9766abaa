#pragma once

#include "data/byte_source.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ignd {

// The part of a text that is being looked at: bytes are dropped at its front and read at its end.
class TextWindow {
 public:
  explicit TextWindow(std::unique_ptr<ByteSource> source) : source_(as_text(std::move(source))) {}

  // Reads until there are `bytes` of text, or all there is. Earlier views of the text are no longer valid.
  void fill(std::size_t bytes) {
    if (ended_ || size_ >= bytes) return;
    move_to_front(bytes);
    while (!ended_ && size_ < bytes) {
      const std::size_t count = source_->read(std::span(buffer_.get() + size_, bytes - size_));
      size_ += count;
      ended_ = count == 0;
    }
  }

  std::string_view text() const { return {buffer_.get() + begin_, size_}; }
  bool ended() const { return ended_; }  // nothing comes after the text
  void drop(std::size_t bytes) {
    begin_ += bytes;
    size_ -= bytes;
  }
  const std::string& name() const { return source_->name(); }

 private:
  void move_to_front(std::size_t room) {
    if (room <= room_) {
      std::copy_n(buffer_.get() + begin_, size_, buffer_.get());
    } else {
      auto larger = std::make_unique_for_overwrite<char[]>(room);
      std::copy_n(buffer_.get() + begin_, size_, larger.get());
      buffer_ = std::move(larger);
      room_ = room;
    }
    begin_ = 0;
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;
  std::size_t room_ = 0;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  bool ended_ = false;
};

}  // namespace ignd
