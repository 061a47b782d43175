#include "loop/thread_pool.h"

#include <utility>

#include "base/check.h"

namespace cadre::loop {

ThreadPool::ThreadPool(Loop& loop, PoolOptions options) : loop_(loop), options_(std::move(options)) {
  CHECK(options_.threads > 0);
  for (std::size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { serve(); });
}

ThreadPool::~ThreadPool() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  const std::deque<std::shared_ptr<Job>> rest = std::exchange(waiting_, {});
  lock.unlock();
  changed_.notify_all();
  threads_.clear();
  for (const std::shared_ptr<Job>& job : rest) {
    job->refuse(pool_ended(options_));
    resume_on_loop(job);
  }
}

Result<void> ThreadPool::submit(std::shared_ptr<Job> job) {
  const std::lock_guard lock(mutex_);
  if (unfinished_ == options_.threads + options_.queue_max) return Failure(pool_full(options_));
  ++unfinished_;
  waiting_.push_back(std::move(job));
  changed_.notify_one();
  return {};
}

void ThreadPool::abandon(const Job& job) {
  std::unique_lock lock(mutex_);
  const auto is_it = [&job](const std::shared_ptr<Job>& other) { return other.get() == &job; };
  const std::size_t forgotten = std::erase_if(waiting_, is_it);
  unfinished_ -= forgotten;
  lock.unlock();
  if (forgotten == 0) job.wait_settled();
}

void ThreadPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    job->work();
    lock.lock();
    --unfinished_;
    resume_on_loop(std::move(job));
  }
}

void ThreadPool::resume_on_loop(std::shared_ptr<Job> job) {
  loop_.post([job = std::move(job)] { job->resume(); });
}

}  // namespace cadre::loop
