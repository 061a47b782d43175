/// Threads that run concurrent handlers: up to so many at a time, started when they are needed; as many works may wait.
/// For one thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cadre::client {

class HandlerPool {
 public:
  /// At least one.
  explicit HandlerPool(std::size_t threads_max);
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;
  /// When all is done.
  ~HandlerPool();

  /// Waits while there is no room. The work must not throw.
  void run(std::function<void()> work);

 private:
  void serve();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_room_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  bool is_ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace cadre::client
