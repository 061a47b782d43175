#include "loop/real_loop.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "loop/asio_context.h"

namespace cadre::loop {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// All timers share one of Asio's, set to the first of them.
struct RealLoop::Inside {
  void check_thread() const {
    const std::thread::id id = runner;
    CHECK(id == std::thread::id() || id == std::this_thread::get_id());
  }
  void fire(TimePoint present);
  void arm();

  TimerHeap timers;  // outlives the context, whose pending calls may hold timers
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy{context.get_executor()};
  asio::steady_timer alarm{context};
  TimePoint armed = TimePoint::max();  // when the alarm rings; max: not set
  std::uint64_t added = 0;
  std::atomic<bool> stopping = false;
  std::atomic<std::thread::id> runner;
};

/// Runs what is due now; what these calls add is left for the next turn, so that sockets and posts have theirs.
void RealLoop::Inside::fire(TimePoint present) {
  armed = TimePoint::max();
  for (std::optional<TimePoint> next = timers.next(); next && *next <= present; next = timers.next()) {
    Call call = timers.take();
    call();
  }
  arm();
}

void RealLoop::Inside::arm() {
  const std::optional<TimePoint> next = timers.next();
  if (!next || *next >= armed) return;  // an alarm that rings too early finds nothing due and is set again
  armed = *next;
  alarm.expires_at(steady_clock::time_point(armed.time_since_epoch()));
  alarm.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) fire(TimePoint(steady_clock::now().time_since_epoch()));
  });
}

RealLoop::RealLoop() : inside_(std::make_unique<Inside>()) {}

RealLoop::~RealLoop() {
  CHECK(inside_->runner.load() == std::thread::id());
  destroy_tasks();
  inside_->timers.clear();
}

TimePoint RealLoop::now() const { return TimePoint(steady_clock::now().time_since_epoch()); }

void RealLoop::post(Call call) {
  asio::post(inside_->context, [call = std::move(call)]() mutable { call(); });
}

TimerKey RealLoop::add_timer(TimePoint time, Call call) {
  inside_->check_thread();
  const TimerKey key = inside_->timers.add({time, inside_->added++}, std::move(call));
  inside_->arm();
  return key;
}

void RealLoop::cancel_timer(TimerKey key) {
  inside_->check_thread();
  inside_->timers.cancel(key);
}

void RealLoop::run() {
  inside_->check_thread();
  inside_->runner = std::this_thread::get_id();
  inside_->context.run();
  inside_->context.restart();
  inside_->runner = std::thread::id();
}

bool RealLoop::run_until(TimePoint end, const std::function<bool()>& done) {
  inside_->check_thread();
  inside_->runner = std::this_thread::get_id();
  bool holds = done();
  while (!holds) {
    const std::size_t ran = end == TimePoint::max()
                                ? inside_->context.run_one()
                                : inside_->context.run_one_until(steady_clock::time_point(end.time_since_epoch()));
    holds = done();
    if (ran == 0) break;
  }
  inside_->runner = std::thread::id();
  return holds;
}

void RealLoop::stop() {
  if (inside_->stopping.exchange(true)) return;
  asio::post(inside_->context, [this] {
    inside_->stopping = false;
    inside_->context.stop();
  });
}

asio::io_context& asio_context(RealLoop& loop) { return loop.inside_->context; }

}  // namespace cadre::loop
