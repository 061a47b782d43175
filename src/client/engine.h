/// An event loop with its own thread. A caller that waits for something drives the loop itself, so that the response
/// reaches it without a thread switch. Safe on any thread; the state of the loop is accessed only by calls that run on
/// it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "loop/real_loop.h"
#include "loop/thread_pool.h"

namespace cadre::client {

class Engine {
 public:
  Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Nobody may wait any more. What belongs to the loop must be gone.
  ~Engine();

  loop::RealLoop& loop() { return loop_; }
  /// For what blocks.
  loop::ThreadPool& pool() { return pool_; }

  /// Runs a call on the loop, soon, whether somebody waits or not.
  void post(loop::Call call);

  /// Runs a call on the loop: at once and on this thread if nobody drives it, else soon.
  void run(loop::Call call);

  /// Runs a call that may run on any thread within about a millisecond, whether somebody drives the loop or not.
  void soon(loop::Call call);

  /// Runs `begin` on the loop and waits until `done` holds, or until that time; says whether it holds. `done` is asked
  /// on the thread that waits, and again after each changed(); if it depends on one thing only, `on`, after each change
  /// of that, so that many who wait for different things do not wake each other. From inside a call of the loop nothing
  /// is waited for.
  bool wait(TimePoint end, const std::function<void()>& begin, const std::function<bool()>& done,
            const void* on = nullptr);
  /// The same, but an interrupt of the user (client/interrupt.h) ends it, too; `begin` may then run later.
  bool wait_or_interrupt(TimePoint end, std::function<void()> begin, const std::function<bool()>& done);

  /// Runs a call on the loop, and waits until it has run.
  void perform(const std::function<void()>& call);

  /// Something that somebody may wait for has changed: anything, or only `what`.
  void changed(const void* what = nullptr);

 private:
  void drive();
  void run_soon(std::unique_lock<std::mutex>& lock);
  struct Waiter {
    const void* on = nullptr;
    bool is_woken = false;
    std::condition_variable wake;
  };
  void take(const void* on);
  void leave();
  static void wake(Waiter& waiter);
  /// Somebody who waits is to drive, if nobody does.
  void wake_next_driver();

  loop::RealLoop loop_;
  loop::ThreadPool pool_{loop_, {"engine", 1, 256}};
  std::mutex mutex_;
  std::condition_variable idle_;  // for the own thread
  std::vector<Waiter*> waiters_;  // who wait while another drives; the last came last
  bool is_driven_ = false;
  std::thread::id driver_;
  const void* driver_on_ = nullptr;  // what the driver waits for itself
  bool is_ending_ = false;
  bool is_asleep_ = false;  // the own thread, until it is told
  bool has_work_ = false;   // posted while nobody drove
  std::vector<loop::Call> soon_;
  TimePoint soon_due_;
  TimePoint sleeps_until_;  // the own thread
  TimePoint left_;          // when somebody who waited drove last
  std::uint64_t changes_ = 0;
  std::atomic<int> wanting_ = 0;  // who wait, and would drive
  std::thread thread_;
};

}  // namespace cadre::client
