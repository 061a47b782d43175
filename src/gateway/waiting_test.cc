#include "gateway/waiting.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "loop/simulated_loop.h"
#include "loop/tasks.h"

namespace cadre::gateway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct WaitingTest : testing::Test {
  static loop::Task<void> ask(WaitingTest& self) {
    const std::string told = co_await self.waiting.ask([&self](std::uint64_t asker) { self.asked.push_back(asker); });
    self.heard.push_back(told);
  }
  void run() { ASSERT_TRUE(loop.run_until_idle()); }
  auto hear() {
    return [this](const std::string& told) { heard.push_back(told); };
  }

  loop::SimulatedLoop loop;
  std::vector<std::uint64_t> asked;
  std::vector<std::uint64_t> forgotten;
  std::vector<std::string> heard;
  Waiting<std::string> waiting{[this](std::uint64_t asker) { forgotten.push_back(asker); }};
  loop::Tasks tasks{loop};
};

TEST_F(WaitingTest, CanBeNotifiedOnceOrRepeatedly) {
  const auto once = waiting.add(hear());
  const auto often = waiting.add_for_all(hear());
  EXPECT_NE(once, often);
  for (const char* told : {"a", "b"}) {
    waiting.tell(once, std::string("once ") + told);
    waiting.tell(often, std::string("often ") + told);
  }
  EXPECT_THAT(heard, ElementsAre("once a", "often a", "often b"));
  waiting.forget(often);
  waiting.tell(often, "late");
  EXPECT_EQ(heard.size(), 3);
  EXPECT_THAT(forgotten, ElementsAre(often)) << "who was answered need not be forgotten";
  waiting.forget(once);
  waiting.forget(often);
  waiting.forget(1'000);
  EXPECT_EQ(forgotten.size(), 1);
}

TEST_F(WaitingTest, CanLeaveDuringANotification) {
  std::uint64_t self = 0;
  self = waiting.add_for_all([&](const std::string& told) {
    heard.push_back(told);
    waiting.forget(self);
    waiting.add(hear());
  });
  waiting.tell(self, "a");
  waiting.tell(self, "b");
  EXPECT_THAT(heard, ElementsAre("a"));
}

TEST_F(WaitingTest, GetAnotherReplyWhenDismissed) {
  tasks.spawn(ask(*this));
  run();
  waiting.dismiss(asked.at(0), "nothing comes");
  waiting.dismiss(asked.at(0), "nothing comes");
  waiting.tell(asked.at(0), "late");
  EXPECT_THAT(heard, ElementsAre("nothing comes"));
  EXPECT_EQ(forgotten, asked);
}

TEST_F(WaitingTest, GoOnWithTheAnswer) {
  tasks.spawn(ask(*this));
  tasks.spawn(ask(*this));
  run();
  ASSERT_EQ(asked.size(), 2);
  waiting.tell(asked[1], "second");
  waiting.tell(asked[0], "first");
  EXPECT_THAT(heard, ElementsAre("second", "first"));
  EXPECT_THAT(forgotten, IsEmpty());
}

TEST_F(WaitingTest, AreForgottenWhenTheyEnd) {
  tasks.spawn(ask(*this));
  run();
  tasks.destroy_all();
  EXPECT_EQ(forgotten, asked);
  waiting.tell(asked.at(0), "late");
  EXPECT_THAT(heard, IsEmpty());
}

}  // namespace
}  // namespace cadre::gateway
