#include "tests/sim/process_loop.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {

ProcessLoop::~ProcessLoop() {
  destroy_tasks();
  timers_.clear();
}

loop::TimerKey ProcessLoop::add_timer(TimePoint time, loop::Call call) {
  const loop::TimerKey key = timers_.add({std::max(time, now()), dice_.bits()}, std::move(call));
  arm();
  return key;
}

void ProcessLoop::stop() {
  stopped_ = true;
  wake_.cancel();
  armed_.reset();
}

void ProcessLoop::resume() {
  stopped_ = false;
  arm();
}

/// One call at a time, so that calls of other processes at the same instant come between.
void ProcessLoop::arm() {
  const std::optional<TimePoint> next = timers_.next();
  if (stopped_ || !next || *next == TimePoint::max() || (armed_ && *armed_ <= *next)) return;
  armed_ = *next;
  wake_ = world_.at(zero_ + next->time_since_epoch(), [this] { run_one(); });
}

void ProcessLoop::run_one() {
  armed_.reset();
  const std::optional<TimePoint> next = timers_.next();
  if (next && *next <= now()) {
    loop::Call call = timers_.take();
    call();
  }
  arm();
}

}  // namespace cadre::sim
