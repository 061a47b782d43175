#include "gateway/semaphore.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "loop/simulated_loop.h"
#include "loop/tasks.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct SemaphoreTest : testing::Test {
  static loop::Task<void> pass(SemaphoreTest& self, int who, Duration stay) {
    const Semaphore::Permit permit = co_await self.semaphore.acquire();
    self.entered.push_back(who);
    co_await loop::sleep(self.loop, stay);
    self.left.push_back(who);
  }

  void come(int who, Duration stay) {
    tasks->spawn(pass(*this, who, stay));
    run(1ms);
  }
  void run(Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  loop::SimulatedLoop loop;
  Semaphore semaphore{loop, 2};
  std::vector<int> entered;
  std::vector<int> left;
  std::unique_ptr<loop::Tasks> tasks = std::make_unique<loop::Tasks>(loop);
};

TEST_F(SemaphoreTest, LetsAsManyGoOnAsThereArePermitsAndTheOthersInTheirOrder) {
  for (int who = 1; who <= 5; ++who) come(who, who == 1 ? 9s : 2s);
  run(1s);
  EXPECT_THAT(entered, ElementsAre(1, 2));
  run(2s);
  EXPECT_THAT(entered, ElementsAre(1, 2, 3));
  run(20s);
  EXPECT_THAT(entered, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(left, ElementsAre(2, 3, 4, 5, 1));
  come(6, 0s);
  run(1s);
  EXPECT_EQ(left.back(), 6) << "all permits were returned";
}

TEST_F(SemaphoreTest, ReleasesPermitsAndPlacesOfDestroyedWaiters) {
  for (int who = 1; who <= 4; ++who) come(who, 1h);
  run(1s);
  tasks = std::make_unique<loop::Tasks>(loop);
  for (int who = 5; who <= 7; ++who) come(who, 1h);
  run(1s);
  EXPECT_THAT(entered, ElementsAre(1, 2, 5, 6));
}

}  // namespace
}  // namespace cadre::gateway
