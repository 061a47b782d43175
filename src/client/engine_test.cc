#include "client/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

TEST(Engine, RunsPostedWorkWithoutAWaitingThread) {
  Engine engine;
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> ran = false;
    engine.post([&] { ran = true; });
    while (!ran) std::this_thread::sleep_for(10us);
  }
}

TEST(Engine, AWaitingCallerDrivesTheLoop) {
  Engine engine;
  std::thread::id ran_on;
  bool is_done = false;
  const bool holds = engine.wait(
      TimePoint::max(),
      [&] {
        engine.loop()
            .after(20ms,
                   [&] {
                     ran_on = std::this_thread::get_id();
                     is_done = true;
                   })
            .detach();
      },
      [&] { return is_done; });
  EXPECT_TRUE(holds);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Engine, TimersGoOnAfterwards) {
  Engine engine;
  std::atomic<bool> rang = false;
  EXPECT_TRUE(engine.wait(
      TimePoint::max(), [&] { engine.loop().after(30ms, [&] { rang = true; }).detach(); }, [] { return true; }));
  while (!rang) std::this_thread::sleep_for(1ms);
}

TEST(Engine, RunsSoonCallsOnAnyDrivingThread) {
  Engine engine;
  std::atomic<int> ran = 0;
  const auto runs_one = [&] {
    const int before = ran;
    engine.soon([&] { ++ran; });
    while (ran == before) std::this_thread::sleep_for(100us);
  };
  for (int i = 0; i < 20; ++i) runs_one();  // the own thread drives, or will
  // It sleeps for long while somebody else drives.
  std::atomic<bool> is_over = false;
  std::jthread driver([&] {
    engine.wait(
        TimePoint::max(), [] {}, [&] { return is_over.load(); });
  });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(i * 1ms);
    runs_one();
  }
  engine.post([&] { is_over = true; });
  driver.join();
  // Who comes and goes.
  for (int i = 0; i < 20; ++i) {
    engine.wait(
        TimePoint::max(), [] {}, [] { return true; });
    runs_one();
  }
}

TEST(Engine, WakesTheDrivingThreadOnOutsideChanges) {
  Engine engine;
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> is_done = false;
    std::jthread other([&] {
      std::this_thread::sleep_for(3ms);
      is_done = true;
      engine.changed();
    });
    EXPECT_TRUE(engine.wait(
        TimePoint::max(), [] {}, [&] { return is_done.load(); }));
  }
}

TEST(Engine, WakesOnlyTheThreadWhoseConditionHolds) {
  Engine engine;
  constexpr int threads = 4;
  std::array<std::atomic<bool>, threads> is_done{};
  std::array<std::atomic<int>, threads> asked{};
  std::atomic<bool> is_over = false;
  std::jthread driver([&] {
    engine.wait(
        TimePoint::max(), [] {}, [&] { return is_over.load(); });
  });
  std::vector<std::jthread> waiting;
  for (std::size_t i = 0; i < threads; ++i) {
    waiting.emplace_back([&, i] {
      const auto look = [&, i] {
        ++asked[i];
        return is_done[i].load();
      };
      EXPECT_TRUE(engine.wait(
          TimePoint::max(), [] {}, look, &is_done[i]));
    });
  }
  for (const auto& one : asked) {
    while (one == 0) std::this_thread::sleep_for(100us);
  }
  std::this_thread::sleep_for(50ms);  // they sleep
  const int before = asked[1];
  for (int i = 0; i < 1'000; ++i) engine.changed(&is_done[0]);
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(asked[1], before + 2) << "they may have been on their way to sleep";
  for (auto& one : is_done) {
    one = true;
    engine.changed(&one);
  }
  waiting.clear();
  is_over = true;
  engine.changed();
}

TEST(Engine, AlwaysHasADrivingThreadWhenWaitersGiveUp) {
  Engine engine;
  std::atomic<int> failures = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 300; ++i) {
        if (thread < 3) {  // they give up again and again
          static_cast<void>(engine.wait(
              engine.loop().now() + 200us, [] {}, [] { return false; }, &failures));
          continue;
        }
        const auto is_done = std::make_shared<std::atomic<bool>>(false);
        const auto begin = [&engine, is_done] {
          engine.loop()
              .after(300us,
                     [&engine, is_done] {
                       *is_done = true;
                       engine.changed(is_done.get());
                     })
              .detach();
        };
        if (!engine.wait(
                engine.loop().now() + 60s, begin, [&] { return is_done->load(); }, is_done.get()))
          ++failures;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
}

TEST(Engine, GivesUpInTime) {
  Engine engine;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(engine.wait(
        engine.loop().now() + 10ms, [] {}, [] { return false; }));
  }
}

TEST(Engine, ServesManyWaitingThreads) {
  Engine engine;
  constexpr int threads = 4;
  constexpr int rounds = 300;
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> waiting;
    for (int thread = 0; thread < threads; ++thread) {
      waiting.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          std::atomic<bool> is_done = false;
          const auto begin = [&] {
            engine.loop()
                .after(i % 3 == 0 ? 100us : 0us,
                       [&] {
                         is_done = true;
                         engine.changed();
                       })
                .detach();
          };
          if (!engine.wait(engine.loop().now() + 60s, begin, [&] { return is_done.load(); })) ++failures;
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace cadre::client
