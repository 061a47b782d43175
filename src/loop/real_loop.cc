#include "loop/real_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "loop/asio_context.h"
#include "loop/boot_clock.h"

namespace cadre::loop {

namespace asio = boost::asio;

namespace {

int make_alarm() {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  CHECK(fd >= 0);
  return fd;
}

}  // namespace

/// All timers share one of the kernel's, set to the first of them. Asio's own would stand still in suspend.
struct RealLoop::Inside {
  void check_thread() const {
    const std::thread::id id = runner;
    CHECK(id == std::thread::id() || id == std::this_thread::get_id());
  }
  void fire(TimePoint present);
  void arm();
  void listen();

  TimerHeap timers;  // outlives the context, whose pending calls may hold timers
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy{context.get_executor()};
  asio::posix::stream_descriptor alarm{context, make_alarm()};
  std::array<char, 8> rings{};  // how often the alarm has rung, of no interest
  bool is_listening = false;
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
  if (armed == TimePoint::max()) return;
  const Duration at = std::max(armed.time_since_epoch(), Duration{1});  // 0 would switch it off
  const itimerspec when{{0, 0}, {at.count() / 1'000'000'000, at.count() % 1'000'000'000}};
  CHECK(::timerfd_settime(alarm.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr) == 0);
  if (!std::exchange(is_listening, true)) listen();
}

void RealLoop::Inside::listen() {
  alarm.async_read_some(asio::buffer(rings), [this](const boost::system::error_code& error, std::size_t) {
    if (error == asio::error::operation_aborted) return;
    listen();
    fire(boot_now());
  });
}

RealLoop::RealLoop() : inside_(std::make_unique<Inside>()) {}

RealLoop::~RealLoop() {
  CHECK(inside_->runner.load() == std::thread::id());
  destroy_tasks();
  inside_->timers.clear();
}

TimePoint RealLoop::now() const { return boot_now(); }

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
    const std::size_t ran =
        end == TimePoint::max() ? inside_->context.run_one() : inside_->context.run_one_for(end - boot_now());
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
