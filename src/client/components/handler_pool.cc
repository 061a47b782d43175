#include "client/components/handler_pool.h"

#include <algorithm>
#include <utility>

namespace cadre::client {

HandlerPool::HandlerPool(std::size_t threads_max) : threads_max_(std::max<std::size_t>(threads_max, 1)) {}

HandlerPool::~HandlerPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_all();
  threads_.clear();
}

void HandlerPool::run(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return waiting_.size() < threads_max_; });
  waiting_.push_back(std::move(work));
  if (waiting_.size() > idle_ && threads_.size() < threads_max_) threads_.emplace_back([this] { serve(); });
  has_work_.notify_one();
}

void HandlerPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      has_room_.notify_one();
      lock.unlock();
      work();
    }
    lock.lock();
  }
}

}  // namespace cadre::client
