#include "loop/blocking_pool.h"

#include "base/check.h"
#include "loop/call.h"

namespace cadre::loop {

void BlockingPool::Job::work() {
  try {
    call();
  } catch (...) {
    exception_escaped();
  }
  settle();
}

void BlockingPool::Job::refuse(Error error) {
  fail_with(std::move(error));
  settle();
}

void BlockingPool::Job::settle() {
  CHECK(!settled());
  settled_.store(true, std::memory_order_release);
  settled_.notify_all();
}

void BlockingPool::Job::resume() {
  if (waiting) std::exchange(waiting, nullptr).resume();
}

Error pool_full(const PoolOptions& options) {
  return {Errc::unavailable, "pool " + options.name + " is full: its " + std::to_string(options.threads) +
                                 " threads are busy and " + std::to_string(options.queue_max) + " jobs wait"};
}

Error pool_ended(const PoolOptions& options) { return {Errc::unavailable, "pool " + options.name + " has ended"}; }

}  // namespace cadre::loop
