/// Lets a number of coroutines in at a time; the others wait in their order. For the loop's thread; the gate outlives
/// who waits and who is in.
#pragma once

#include <coroutine>
#include <cstddef>
#include <list>
#include <utility>

#include "loop/loop.h"

namespace cadre::gateway {

class Gate {
 public:
  Gate(loop::Loop& loop, std::size_t places) : loop_(loop), free_(places) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// A place, which is free again when this ends.
  class [[nodiscard]] Place {
   public:
    explicit Place(Gate& gate) : gate_(&gate) {}
    Place(Place&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (gate_ != nullptr) gate_->leave();
    }

   private:
    Gate* gate_;
  };

  class [[nodiscard]] Entry {
   public:
    explicit Entry(Gate& gate) : gate_(gate) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (waits_) gate_.waiting_.erase(at_);
    }

    bool await_ready() const { return gate_.waiting_.empty() && gate_.free_ > 0; }
    void await_suspend(std::coroutine_handle<> handle) {
      at_ = gate_.waiting_.insert(gate_.waiting_.end(), {handle, this});
      waits_ = true;
    }
    Place await_resume() {
      --gate_.free_;
      return Place(gate_);
    }

   private:
    friend Gate;
    Gate& gate_;
    bool waits_ = false;
    std::list<std::pair<std::coroutine_handle<>, Entry*>>::iterator at_;
  };

  /// co_await gate.enter(): a Place.
  Entry enter() { return Entry(*this); }

 private:
  /// Not inside the call of who leaves, which may be about to end everything.
  void leave() {
    ++free_;
    if (!waiting_.empty()) admitting_ = loop_.after(Duration::zero(), [this] { admit(); });
  }
  void admit() {
    while (free_ > 0 && !waiting_.empty()) {
      const auto [handle, entry] = waiting_.front();
      waiting_.pop_front();
      entry->waits_ = false;
      handle.resume();
    }
  }

  loop::Loop& loop_;
  std::size_t free_;
  std::list<std::pair<std::coroutine_handle<>, Entry*>> waiting_;
  loop::Timer admitting_;
};

}  // namespace cadre::gateway
