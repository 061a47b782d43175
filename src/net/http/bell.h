/// Lets one coroutine at a time wait until it is called. For the loop's thread; the bell outlives who waits.
#pragma once

#include <coroutine>
#include <utility>

#include "base/check.h"

namespace cadre::net::http {

class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  class [[nodiscard]] Wait {
   public:
    explicit Wait(Bell& bell) : bell_(bell) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      if (waits_) bell_.waiting_ = nullptr;
    }

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      CHECK(!bell_.waiting_);
      bell_.waiting_ = waiting;
      waits_ = true;
    }
    void await_resume() { waits_ = false; }

   private:
    Bell& bell_;
    bool waits_ = false;
  };

  /// co_await bell.wait(): goes on at the next ring().
  Wait wait() { return Wait(*this); }

  /// Goes on with who waits, before this returns. So nothing may be half done when it is called.
  void ring() {
    if (const auto waiting = std::exchange(waiting_, nullptr)) waiting.resume();
  }

 private:
  std::coroutine_handle<> waiting_;
};

}  // namespace cadre::net::http
