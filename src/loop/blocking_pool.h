/// Where a loop sends work that blocks: files, databases, compression. run() is for the loop's thread, and so is the
/// end of the pool; the loop outlives it.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace cadre::loop {

struct PoolOptions {
  std::string name;  ///< as errors call it
  std::size_t threads = 1;
  std::size_t queue_max = 64;  ///< most works that wait while all threads are busy
};

template <class Fn>
concept Work = std::move_constructible<Fn> && requires(Fn& fn) {
  { fn().error() } -> std::convertible_to<Error>;
};

class BlockingPool {
 public:
  virtual ~BlockingPool() = default;

  template <Work Fn>
  class Ran;
  /// co_await pool.run(fn): calls fn, which gives a Result, away from the loop, and goes on with it on the loop. With
  /// unavailable, and fn not called, when too much waits already or the pool ends first. If who awaits is destroyed
  /// meanwhile, that waits for fn if it has begun and else keeps it from beginning: fn may use what its coroutine
  /// holds.
  template <Work Fn>
  Ran<Fn> run(Fn fn) {
    return Ran<Fn>(*this, std::move(fn));
  }

 protected:
  class Job {
   public:
    virtual ~Job() = default;
    void work();               ///< away from the loop
    void refuse(Error error);  ///< instead of work
    void resume();             ///< on the loop, after either

    /// Whether it worked or was refused. From then on the pool is not needed.
    [[nodiscard]] bool settled() const { return settled_.load(std::memory_order_acquire); }
    void wait_settled() const { settled_.wait(false, std::memory_order_acquire); }

    std::coroutine_handle<> waiting;  ///< who is to be resumed, if any; for the loop's thread

   private:
    virtual void call() = 0;
    virtual void fail_with(Error error) = 0;
    void settle();

    std::atomic<bool> settled_ = false;
  };

  /// Lets the job work or refuses it, then resumes it on the loop, never inside this function. On error the job is
  /// forgotten. It is shared because a call that is to resume it may be on its way when who waits is destroyed.
  [[nodiscard]] virtual Result<void> submit(std::shared_ptr<Job> job) = 0;

  /// Forgets a job that has not begun; for one that has, returns when it is settled.
  virtual void abandon(const Job& job) = 0;
};

/// What a pool says to what it does not take.
[[nodiscard]] Error pool_full(const PoolOptions& options);
[[nodiscard]] Error pool_ended(const PoolOptions& options);

template <Work Fn>
class [[nodiscard]] BlockingPool::Ran {
 public:
  Ran(BlockingPool& pool, Fn&& fn) : pool_(pool), job_(std::make_shared<FnJob>(std::move(fn))) {}
  Ran(const Ran&) = delete;
  Ran& operator=(const Ran&) = delete;
  ~Ran() {
    if (std::exchange(job_->waiting, nullptr) && !job_->settled()) pool_.abandon(*job_);
  }

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    Result<void> submitted = pool_.submit(job_);
    if (!submitted) {
      job_->refuse(std::move(submitted).error());
      return false;
    }
    job_->waiting = waiting;
    return true;
  }
  auto await_resume() { return *std::move(job_->result); }

 private:
  struct FnJob final : Job {
    explicit FnJob(Fn&& f) : fn(std::move(f)) {}
    void call() override { result.emplace(fn()); }
    void fail_with(Error error) override { result.emplace(Failure(std::move(error))); }

    Fn fn;
    std::optional<std::invoke_result_t<Fn&>> result;
  };

  BlockingPool& pool_;
  std::shared_ptr<FnJob> job_;
};

}  // namespace cadre::loop
