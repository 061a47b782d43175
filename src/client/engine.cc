#include "client/engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "client/interrupt.h"
#include "loop/boot_clock.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

/// How long the own thread leaves a loop alone after a caller has driven it, because the caller may return at once.
constexpr Duration stay_away = 1ms;

/// Interval at which the own thread checks the loop again, so that short visits of callers need not wake it. A caller
/// that stayed longer wakes it on leaving.
constexpr Duration come_and_go = 5ms;

/// What is to run soon is late after that.
constexpr Duration soon_is = 1ms;

/// For interrupts of the user.
constexpr Duration engine_look_every = 200ms;

/// The loop's time as one that a condition variable takes.
std::chrono::steady_clock::time_point steady(TimePoint time) {
  const auto now = std::chrono::steady_clock::now();
  const Duration wait = time - loop::boot_now();
  return wait > std::chrono::hours(24) ? now + std::chrono::hours(24) : now + wait;  // who wakes early looks again
}

}  // namespace

Engine::Engine() : thread_([this] { drive(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ++wanting_;  // whoever drives stops
  loop_.post([] {});
  idle_.notify_all();
  thread_.join();
  loop_.destroy_tasks();
}

void Engine::post(loop::Call call) {
  loop_.post(std::move(call));
  const std::lock_guard lock(mutex_);
  if (is_driven_) return;
  has_work_ = true;
  idle_.notify_one();
}

void Engine::run(loop::Call call) {
  {
    const std::lock_guard lock(mutex_);
    if (is_driven_) return loop_.post(std::move(call));
    take(nullptr);
  }
  call();
  const std::lock_guard lock(mutex_);
  leave();
}

void Engine::soon(loop::Call call) {
  const std::lock_guard lock(mutex_);
  if (driver_ == thread_.get_id()) return loop_.post(std::move(call));  // it looks at nothing else
  if (soon_.empty()) soon_due_ = loop_.now() + soon_is;
  soon_.push_back(std::move(call));
  if (soon_due_ < sleeps_until_) idle_.notify_one();
}

/// Those that are due. The lock is not held while they run.
void Engine::run_soon(std::unique_lock<std::mutex>& lock) {
  std::vector<loop::Call> calls = std::exchange(soon_, {});
  lock.unlock();
  for (loop::Call& call : calls) call();
  lock.lock();
}

/// With the lock held.
void Engine::take(const void* on) {
  is_driven_ = true;
  driver_ = std::this_thread::get_id();
  driver_on_ = on;
}

void Engine::leave() {
  is_driven_ = false;
  driver_ = {};
  left_ = loop_.now();
  wake_next_driver();
  if (wanting_ == 0 && is_asleep_) idle_.notify_one();
}

void Engine::wake(Waiter& waiter) {
  if (std::exchange(waiter.is_woken, true)) return;
  waiter.wake.notify_one();
}

/// What came last is answered last: it drives for longest, and wakes the others when their answers come.
void Engine::wake_next_driver() {
  if (!is_driven_ && !waiters_.empty()) wake(*waiters_.back());
}

void Engine::changed(const void* what) {
  const auto concerns = [what](const void* on) { return what == nullptr || on == nullptr || on == what; };
  const std::lock_guard lock(mutex_);
  ++changes_;
  for (Waiter* const one : waiters_) {
    if (concerns(one->on)) wake(*one);
  }
  const bool another_drives = is_driven_ && wanting_ > 0 && driver_ != std::this_thread::get_id();
  if (another_drives && concerns(driver_on_)) loop_.post([] {});  // it asks before each call of the loop
}

/// The own thread.
void Engine::drive() {
  std::unique_lock lock(mutex_);
  TimePoint seen_left;
  // Until then at the latest, for what is to run soon.
  const auto sleep_until = [&](TimePoint time) {
    sleeps_until_ = soon_.empty() ? time : std::min(time, soon_due_);
    time == TimePoint::max() && soon_.empty() ? idle_.wait(lock) : void(idle_.wait_until(lock, steady(sleeps_until_)));
  };
  while (!is_ending_) {
    if (!soon_.empty() && loop_.now() >= soon_due_) {
      run_soon(lock);
      continue;
    }
    const bool is_wanted = wanting_ > 0;
    const bool was_left_alone = loop_.now() - left_ >= stay_away;
    if (is_driven_ || is_wanted) {
      if (std::exchange(seen_left, left_) != left_) {
        sleep_until(loop_.now() + come_and_go);
        continue;
      }
      is_asleep_ = true;
      sleep_until(TimePoint::max());
      is_asleep_ = false;
      continue;
    }
    if (!was_left_alone && !has_work_) {
      sleep_until(left_ + stay_away);
      continue;
    }
    has_work_ = false;
    take(nullptr);
    run_soon(lock);
    lock.unlock();
    static_cast<void>(loop_.run_until(TimePoint::max(), [this] { return wanting_ > 0; }));
    lock.lock();
    is_driven_ = false;
    driver_ = {};
    wake_next_driver();
  }
}

void Engine::perform(const std::function<void()>& call) {
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  const auto begin = [this, &call, is_done] {
    call();
    is_done->store(true);  // from here on nothing of who waits may be touched
    changed();
  };
  wait(TimePoint::max(), begin, [is_done] { return is_done->load(); });
}

bool Engine::wait_or_interrupt(TimePoint end, std::function<void()> begin, const std::function<bool()>& done) {
  if (!has_interrupt_check()) return wait(end, begin, done);
  for (;;) {
    const TimePoint look_at = loop_.now() + engine_look_every;
    if (wait(std::min(end, look_at), std::exchange(begin, [] {}), done)) return true;
    if (look_at >= end || look_for_interrupt()) return false;
  }
}

bool Engine::wait(TimePoint end, const std::function<void()>& begin, const std::function<bool()>& done,
                  const void* on) {
  std::unique_lock lock(mutex_);
  if (is_driven_ && driver_ == std::this_thread::get_id()) {
    lock.unlock();
    begin();
    return done();
  }
  ++wanting_;
  bool has_begun = false;
  bool holds = false;
  Waiter me;
  me.on = on;
  for (;;) {
    if (!is_driven_) {
      take(on);
      lock.unlock();
      if (!std::exchange(has_begun, true)) begin();
      holds = loop_.run_until(end, done);
      lock.lock();
      break;
    }
    if (!std::exchange(has_begun, true)) loop_.post([begin] { begin(); });
    const std::uint64_t seen = changes_;
    lock.unlock();
    holds = done();
    lock.lock();
    if (holds || loop_.now() >= end) break;
    if (seen != changes_ || !is_driven_) continue;
    me.is_woken = false;
    waiters_.push_back(&me);
    const auto is_woken = [&me] { return me.is_woken; };
    end == TimePoint::max() ? me.wake.wait(lock, is_woken) : void(me.wake.wait_until(lock, steady(end), is_woken));
    std::erase(waiters_, &me);
  }
  --wanting_;
  if (driver_ == std::this_thread::get_id()) {
    leave();
  } else {
    wake_next_driver();  // this one may have been woken to drive
    if (wanting_ == 0 && is_asleep_) idle_.notify_one();
  }
  return holds;
}

}  // namespace cadre::client
