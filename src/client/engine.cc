#include "client/engine.h"

#include <utility>

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

/// For so long the own thread stays away from a loop that somebody has just driven: he may be back at once.
constexpr Duration stay_away = 1ms;

std::chrono::steady_clock::time_point steady(TimePoint time) {
  return std::chrono::steady_clock::time_point(time.time_since_epoch());
}

}  // namespace

Engine::Engine() : thread_([this] { attend(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ++wanting_;  // whoever drives stops
  loop_.post([] {});
  idle_.notify_all();
  thread_.join();
  loop_.destroy_tasks();
}

void Engine::post(loop::Call call) {
  loop_.post(std::move(call));
  const std::lock_guard lock(mutex_);
  if (is_driven_) return;
  has_work_ = true;
  idle_.notify_one();
}

void Engine::changed() {
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (waiting_ > 0) changed_.notify_all();
}

/// The own thread.
void Engine::attend() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const bool is_wanted = wanting_ > 0;
    const bool was_left_alone = loop_.now() - left_ >= stay_away;
    if (is_driven_ || is_wanted) {
      is_asleep_ = true;
      idle_.wait(lock);
      is_asleep_ = false;
      continue;
    }
    if (!was_left_alone && !has_work_) {
      idle_.wait_until(lock, steady(left_ + stay_away));
      continue;
    }
    has_work_ = false;
    is_driven_ = true;
    lock.unlock();
    static_cast<void>(loop_.run_until(TimePoint::max(), [this] { return wanting_ > 0; }));
    lock.lock();
    is_driven_ = false;
    if (waiting_ > 0) changed_.notify_all();
  }
}

bool Engine::wait(TimePoint end, std::function<void()> begin, const std::function<bool()>& done) {
  ++wanting_;
  std::unique_lock lock(mutex_);
  bool has_begun = false;
  bool holds = false;
  for (;;) {
    if (!is_driven_) {
      is_driven_ = true;
      lock.unlock();
      if (!std::exchange(has_begun, true)) begin();
      holds = loop_.run_until(end, done);
      lock.lock();
      is_driven_ = false;
      left_ = loop_.now();
      break;
    }
    if (!std::exchange(has_begun, true)) loop_.post([begin] { begin(); });
    const std::uint64_t seen = changes_;
    lock.unlock();
    holds = done();
    lock.lock();
    if (holds || loop_.now() >= end) break;
    if (seen != changes_ || !is_driven_) continue;
    ++waiting_;
    end == TimePoint::max() ? changed_.wait(lock) : void(changed_.wait_until(lock, steady(end)));
    --waiting_;
  }
  --wanting_;
  if (waiting_ > 0) changed_.notify_all();
  if (wanting_ == 0 && is_asleep_) idle_.notify_one();
  return holds;
}

}  // namespace cadre::client
