/// A thread of its own for code of the user's that is to run when something is there: it may take its time, and the
/// loop goes on. Safe on any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"

namespace cadre::client {

class Callbacks {
 public:
  using Call = std::function<void()>;

  /// `roomy` is called when there is room again.
  explicit Callbacks(std::function<void()> roomy);
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  /// When all have run. Not on its own thread.
  ~Callbacks();

  /// They run in the order in which they are given; one that throws is told on stderr.
  void run(std::vector<Call> calls);
  /// Whether more may be asked for that will end here; always on its own thread, which must not wait for itself.
  bool has_room() const;
  /// Waits until all have run, at most so long; not at all on its own thread.
  void finish(Duration most);
  /// Whether this is its own thread.
  bool is_here() const { return thread_.get_id() == std::this_thread::get_id(); }

  /// For those that run at once, where they are: as this would.
  static void run_here(const Call& call);

 private:
  void serve();

  const std::function<void()> roomy_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable is_done_;
  std::deque<Call> waiting_;
  bool is_at_work_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace cadre::client
