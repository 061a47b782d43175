/// Limits the number of coroutines that run at a time; the others wait in order. For the loop's thread; it must outlive
/// all coroutines that wait for a permit or have one.
#pragma once

#include <coroutine>
#include <cstddef>
#include <list>
#include <utility>

#include "loop/loop.h"

namespace cadre::gateway {

class Semaphore {
 public:
  Semaphore(loop::Loop& loop, std::size_t permits) : loop_(loop), free_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Returned when it ends.
  class [[nodiscard]] Permit {
   public:
    explicit Permit(Semaphore& semaphore) : semaphore_(&semaphore) {}
    Permit(Permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (semaphore_ != nullptr) semaphore_->release();
    }

   private:
    Semaphore* semaphore_;
  };

  class [[nodiscard]] Acquire {
   public:
    explicit Acquire(Semaphore& semaphore) : semaphore_(semaphore) {}
    Acquire(const Acquire&) = delete;
    Acquire& operator=(const Acquire&) = delete;
    ~Acquire() {
      if (handle_) semaphore_.waiting_.erase(at_);
    }

    bool await_ready() const { return semaphore_.waiting_.empty() && semaphore_.free_ > 0; }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      at_ = semaphore_.waiting_.insert(semaphore_.waiting_.end(), this);
    }
    Permit await_resume() {
      --semaphore_.free_;
      return Permit(semaphore_);
    }

   private:
    friend Semaphore;
    Semaphore& semaphore_;
    std::coroutine_handle<> handle_;  // while it waits
    std::list<Acquire*>::iterator at_;
  };

  /// co_await semaphore.acquire(): a Permit.
  Acquire acquire() { return Acquire(*this); }

 private:
  /// Waiting coroutines do not resume inside this call: its caller may be about to destroy everything.
  void release() {
    ++free_;
    if (!waiting_.empty()) admitting_ = loop_.after(Duration::zero(), [this] { admit(); });
  }
  void admit() {
    while (free_ > 0 && !waiting_.empty()) {
      Acquire& first = *waiting_.front();
      waiting_.pop_front();
      std::exchange(first.handle_, nullptr).resume();
    }
  }

  loop::Loop& loop_;
  std::size_t free_;
  std::list<Acquire*> waiting_;
  loop::Timer admitting_;
};

}  // namespace cadre::gateway
