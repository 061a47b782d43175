#include "loop/simulated_loop.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace cadre::loop {

SimulatedLoop::SimulatedLoop(const Options& options) : options_(options), dice_(options.seed), now_(options.begin) {}

SimulatedLoop::~SimulatedLoop() {
  CHECK(!running_);
  destroy_tasks();
  timers_.clear();
}

void SimulatedLoop::post(Call call) { add_timer(now_, std::move(call)); }

TimerKey SimulatedLoop::add_timer(TimePoint time, Call call) {
  CHECK(std::this_thread::get_id() == owner_);
  const std::uint64_t tie = options_.order == Order::fifo ? added_++ : dice_.bits();
  return timers_.add({std::max(time, now_), tie}, std::move(call));
}

Result<void> SimulatedLoop::run_until(TimePoint end) {
  TRY(run_due(end));
  now_ = std::max(now_, end);
  return {};
}

Result<void> SimulatedLoop::run_until_idle() { return run_due(TimePoint::max()); }

Result<void> SimulatedLoop::run_due(TimePoint end) {
  CHECK(!running_ && std::this_thread::get_id() == owner_);
  running_ = true;
  const std::uint64_t last_step = steps_ + options_.steps_max;
  std::optional<TimePoint> next = timers_.next();
  for (; next && *next <= end && *next != TimePoint::max() && steps_ != last_step; next = timers_.next()) {
    now_ = *next;
    ++steps_;
    Call call = timers_.take();
    call();
  }
  running_ = false;
  if (!next || *next > end || *next == TimePoint::max()) return {};
  return fail(Errc::timed_out, "the simulated loop ran " + std::to_string(options_.steps_max) + " events and at " +
                                   to_string(now_.time_since_epoch()) + " more are due: a livelock, or steps_max is " +
                                   "too small");
}

}  // namespace cadre::loop
