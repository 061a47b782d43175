#include "loop/real_loop.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "loop/boot_clock.h"
#include "loop/signals.h"

namespace cadre::loop {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(RealLoop, RunsUntilSomethingHoldsOrTheTimeIsOver) {
  RealLoop loop;
  int count = 0;
  for (int i = 0; i < 5; ++i) loop.post([&] { ++count; });
  EXPECT_TRUE(loop.run_until(TimePoint::max(), [&] { return count == 3; }));
  EXPECT_EQ(count, 3) << "and not a call more";
  EXPECT_FALSE(loop.run_until(loop.now() + milliseconds(20), [&] { return count == 6; }));
  EXPECT_EQ(count, 5);
  std::thread other([&] { loop.post([&] { ++count; }); });
  EXPECT_TRUE(loop.run_until(TimePoint::max(), [&] { return count == 6; }));
  other.join();
}

TEST(RealLoop, LosesNoPostOfManyThreadsAndKeepsEachThreadsOrder) {
  constexpr int threads = 4;
  constexpr int posts = 5'000;
  RealLoop loop;
  const std::thread::id own = std::this_thread::get_id();
  std::vector<int> next(threads, 0);
  int missing = threads * posts;
  std::vector<std::jthread> posters;
  posters.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) {
    posters.emplace_back([&, thread] {
      for (int i = 0; i < posts; ++i) {
        loop.post([&, thread, i] {
          EXPECT_EQ(std::this_thread::get_id(), own);
          EXPECT_EQ(next[thread]++, i);
          if (--missing == 0) loop.stop();
        });
      }
    });
  }
  loop.run();
  EXPECT_EQ(next, std::vector<int>(threads, posts));
}

TEST(RealLoop, RunsWhatWasPostedBeforeStopAndKeepsTheRest) {
  RealLoop loop;
  std::vector<int> ran;
  loop.post([&] { ran.push_back(1); });
  loop.stop();
  loop.stop();
  loop.post([&] { ran.push_back(2); });
  loop.run();
  EXPECT_EQ(ran, (std::vector{1}));
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST(RealLoop, IsStoppedFromAnotherThreadWhileNothingWaits) {
  RealLoop loop;
  const std::jthread stopper([&] { loop.stop(); });
  loop.run();
}

TEST(RealLoop, LetsPostsThroughWhileTimersAreAlwaysDue) {
  RealLoop loop;
  Timer timer;
  std::function<void()> again = [&] { timer = loop.after(Duration::zero(), again); };
  again();
  int turns = 0;
  std::function<void()> turn = [&] { ++turns == 100 ? loop.stop() : loop.post(turn); };
  loop.post(turn);
  loop.run();
  EXPECT_EQ(turns, 100);
}

TEST(RealLoop, WaitsForAnEarlierTimerThanTheOneItWaitedFor) {
  RealLoop loop;
  loop.after(hours(1), [] { FAIL(); }).detach();
  const Timer set = loop.after(milliseconds(1), [&] { loop.after(milliseconds(1), [&] { loop.stop(); }).detach(); });
  loop.run();
}

TEST(RealLoop, RefusesTimersOfAnotherThreadWhileItRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        RealLoop loop;
        loop.post([&] { std::thread([&] { loop.after(hours(1), [] {}).detach(); }).join(); });
        loop.run();
      },
      "get_id");
}

TEST(Signals, AreCallsOnTheLoopAsLongAsTheyAreWatched) {
  RealLoop loop;
  std::vector<int> seen;
  auto other = on_signal(loop, {SIGUSR1}, [&](int) { seen.push_back(0); });
  ASSERT_TRUE(other);
  other = fail(Errc::invalid, "no longer watched");
  const auto watch = on_signal(loop, {SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (signal == SIGUSR2) return loop.stop();
    std::raise(SIGUSR2);
  });
  ASSERT_TRUE(watch);
  std::raise(SIGUSR1);
  loop.run();
  EXPECT_EQ(seen, (std::vector{SIGUSR1, SIGUSR2}));
}

TEST(Signals, DropOneThatIsOnItsWayWhenTheWatchEnds) {
  RealLoop loop;
  {
    const auto watch = on_signal(loop, {SIGUSR1}, [](int) { FAIL(); });
    ASSERT_TRUE(watch);
    std::raise(SIGUSR1);
  }
  loop.post([&] { loop.stop(); });
  loop.run();
}

TEST(Signals, SayWhichCannotBeWatched) {
  RealLoop loop;
  const auto watch = on_signal(loop, {SIGKILL}, [](int) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, Errc::invalid);
  EXPECT_NE(watch.error().message.find(std::to_string(SIGKILL)), std::string::npos);
}

/// As after a suspend of that length: in a time namespace the two clocks differ by an offset.
int in_time_namespace(const std::string& offsets, const std::function<bool()>& holds) {
  const pid_t outer = fork();
  if (outer == 0) {
    std::ofstream settings;
    // Root needs no user namespace, which a process with the thread of a sanitizer cannot make.
    if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) _exit(10);
    settings.open("/proc/self/timens_offsets");
    settings << offsets << std::endl;
    if (!settings) _exit(11);
    const pid_t inner = fork();  // only children are in it
    if (inner == 0) _exit(holds() ? 0 : 1);
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 12);
  }
  int status = 0;
  waitpid(outer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 13;
}

TEST(RealLoop, CountsTimeInSuspend) {
  const auto holds = [] {
    RealLoop loop;
    const Duration ahead = loop.now().time_since_epoch() - std::chrono::steady_clock::now().time_since_epoch();
    if (ahead < hours(27) || suspended() < hours(27)) return false;
    bool is_called = false;
    const Timer timer = loop.after(milliseconds(20), [&] { is_called = true; });
    const TimePoint begin = loop.now();
    if (!loop.run_until(begin + std::chrono::minutes(1), [&] { return is_called; })) return false;
    if (loop.now() - begin < milliseconds(20)) return false;
    return !loop.run_until(loop.now() + milliseconds(20), [] { return false; });
  };
  EXPECT_EQ(in_time_namespace("boottime 100000 0", holds), 0);
}

}  // namespace
}  // namespace cadre::loop
