/// The bytes that came over a connection and that nobody has taken yet, in one piece. A value; one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"

namespace cadre::net::http {

class Input {
 public:
  explicit Input(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::string_view view() const { return {room_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  bool is_full() const { return end_ - begin_ >= bytes_max_; }

  void consume(std::size_t size) {
    CHECK(size <= end_ - begin_);
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  /// Where more may be put, at most up to the bound; empty when that is reached.
  std::span<char> free_room() {
    if (end_ == capacity_ && begin_ > 0) move_to(capacity_);
    if (end_ == capacity_ && capacity_ < bytes_max_)
      move_to(std::min(bytes_max_, std::max(first_bytes, capacity_ * 2)));
    return {room_.get() + end_, capacity_ - end_};
  }
  /// That many were put there.
  void grown(std::size_t size) {
    CHECK(size <= capacity_ - end_);
    end_ += size;
  }

  /// For what is there already, beyond the bound if need be.
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    if (bytes.size() > capacity_ - end_) move_to(std::max(capacity_, end_ - begin_ + bytes.size()));
    std::memcpy(room_.get() + end_, bytes.data(), bytes.size());
    end_ += bytes.size();
  }

 private:
  static constexpr std::size_t first_bytes = 4 << 10;

  void move_to(std::size_t capacity) {
    if (capacity == capacity_) {
      std::memmove(room_.get(), room_.get() + begin_, end_ - begin_);
    } else {
      auto room = std::make_unique<char[]>(capacity);
      if (!empty()) std::memcpy(room.get(), room_.get() + begin_, end_ - begin_);
      room_ = std::move(room);
      capacity_ = capacity;
    }
    end_ -= begin_;
    begin_ = 0;
  }

  std::unique_ptr<char[]> room_;
  std::size_t bytes_max_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace cadre::net::http
