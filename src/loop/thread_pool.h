/// A blocking pool of threads. For its loop's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "loop/blocking_pool.h"
#include "loop/loop.h"

namespace cadre::loop {

class ThreadPool final : public BlockingPool {
 public:
  ThreadPool(Loop& loop, PoolOptions options);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Waits for what works now and refuses the rest.
  ~ThreadPool() override;

 private:
  Result<void> submit(std::shared_ptr<Job> job) override;
  void abandon(const Job& job) override;
  void serve();
  void resume_on_loop(std::shared_ptr<Job> job);

  Loop& loop_;
  const PoolOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::size_t unfinished_ = 0;  // waiting and at work
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace cadre::loop
