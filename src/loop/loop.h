/// One thread that runs calls, timers and coroutines one after another; where time comes from is the loop's affair.
/// All but post() is for the loop's own thread, or for whoever owns the loop while it does not run.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "base/time.h"
#include "loop/call.h"
#include "loop/task.h"
#include "loop/timer_heap.h"

namespace cadre::loop {

class Loop;
class Tasks;

/// A call that is still to come. Destroying or cancelling this before its time means that the call never runs. Must
/// not outlive its loop.
class [[nodiscard]] Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), key_(other.key_) {}
  Timer& operator=(Timer&& other) noexcept {
    if (this != &other) cancel();
    loop_ = std::exchange(other.loop_, nullptr);
    key_ = other.key_;
    return *this;
  }
  ~Timer() { cancel(); }

  void cancel();

  /// Lets the call come without a handle on it.
  void detach() { loop_ = nullptr; }

 private:
  friend class Loop;
  Timer(Loop& loop, TimerKey key) : loop_(&loop), key_(key) {}

  Loop* loop_ = nullptr;
  TimerKey key_;
};

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop();

  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Runs the call on the loop's thread, soon, never inside this function. Count on no order among posted calls: an
  /// Inbox is what keeps order.
  virtual void post(Call call) = 0;

  /// Runs the call at a time, or soon if that has passed; never inside this function. TimePoint::max() is never.
  Timer at(TimePoint time, Call call) { return {*this, add_timer(time, std::move(call))}; }

  /// The same, counted from now.
  Timer after(Duration wait, Call call);

  /// Starts a coroutine soon, never inside this function, and owns it until it ends.
  void spawn(Task<void> task);

  /// Destroys the spawned coroutines that have not ended. For who must see them gone before what they use goes; else
  /// the loop's end does it. Not from inside such a coroutine.
  void destroy_tasks();

 private:
  friend class Timer;
  virtual TimerKey add_timer(TimePoint time, Call call) = 0;
  virtual void cancel_timer(TimerKey key) = 0;

  std::unique_ptr<Tasks> tasks_;
};

inline void Timer::cancel() {
  if (Loop* loop = std::exchange(loop_, nullptr); loop != nullptr) loop->cancel_timer(key_);
}

class [[nodiscard]] Sleep {
 public:
  Sleep(Loop& loop, Duration wait) : loop_(loop), wait_(wait) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> sleeping) {
    timer_ = loop_.after(wait_, [sleeping] { sleeping.resume(); });
  }
  void await_resume() const {}

 private:
  Loop& loop_;
  Duration wait_;
  Timer timer_;
};

/// co_await sleep(loop, wait): goes on at now + wait, and on no account before.
inline Sleep sleep(Loop& loop, Duration wait) { return {loop, wait}; }

}  // namespace cadre::loop
