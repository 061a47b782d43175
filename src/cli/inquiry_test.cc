#include "cli/inquiry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loop/simulated_loop.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;

struct Ended {
  explicit Ended(bool& f) : flag(f) {}
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  ~Ended() { flag = true; }
  bool& flag;
};

loop::Task<std::string> answered_after(loop::Loop& loop, Duration wait, bool& is_over) {
  const Ended ended(is_over);
  co_await loop::sleep(loop, wait);
  co_return "answer";
}
loop::Task<std::string> answered_at_once() { co_return "at once"; }

struct InquiryTest : testing::Test {
  /// Records what a caller with this wait time gets, with `-` for nothing, and after how many seconds.
  static loop::Task<void> wait_for(InquiryTest& self, Duration each, int times) {
    for (int i = 0; i < times; ++i) {
      const std::optional<std::string> got = co_await self.inquiry->answer(each);
      const auto at = std::chrono::duration_cast<std::chrono::seconds>(self.loop.now() - self.begun).count();
      self.got.push_back(got.value_or("-") + " " + std::to_string(at));
    }
    self.inquiry.reset();
  }
  void ask(loop::Task<std::string> question) {
    inquiry = std::make_unique<Inquiry<std::string>>(loop, std::move(question));
  }
  void run_for(Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  loop::SimulatedLoop loop;
  const TimePoint begun = loop.now();
  bool is_over = false;
  std::unique_ptr<Inquiry<std::string>> inquiry;
  std::vector<std::string> got;
  loop::Tasks tasks{loop};
};

TEST_F(InquiryTest, GivesTheAnswerWhenItComes) {
  ask(answered_after(loop, 3s, is_over));
  tasks.spawn(wait_for(*this, Duration::max(), 1));
  run_for(1min);
  EXPECT_EQ(got, std::vector<std::string>{"answer 3"});
}

TEST_F(InquiryTest, KeepsAnAnswerThatCameBeforeItIsWaitedFor) {
  ask(answered_at_once());
  run_for(2s);
  tasks.spawn(wait_for(*this, 5s, 1));
  run_for(1min);
  EXPECT_EQ(got, std::vector<std::string>{"at once 2"});
}

TEST_F(InquiryTest, CanBeWaitedForSeveralTimes) {
  ask(answered_after(loop, 5s, is_over));
  tasks.spawn(wait_for(*this, 2s, 4));
  run_for(1min);
  EXPECT_EQ(got, (std::vector<std::string>{"- 2", "- 4", "answer 5", "- 7"}));
}

TEST_F(InquiryTest, IsInterruptedAndMayGoOn) {
  ask(answered_after(loop, 5s, is_over));
  tasks.spawn(wait_for(*this, 1h, 2));
  const loop::Timer interrupt = loop.after(1s, [&] { inquiry->interrupt(); });
  run_for(1min);
  EXPECT_EQ(got, (std::vector<std::string>{"- 1", "answer 5"}));
}

TEST_F(InquiryTest, IgnoresAnInterruptWithoutAWaiter) {
  ask(answered_after(loop, 5s, is_over));
  inquiry->interrupt();
  tasks.spawn(wait_for(*this, 1h, 1));
  run_for(1min);
  EXPECT_EQ(got, std::vector<std::string>{"answer 5"});
}

TEST_F(InquiryTest, GivesTheAnswerAlsoWhenBothComeTogether) {
  ask(answered_after(loop, 5s, is_over));
  tasks.spawn(wait_for(*this, 5s, 1));
  const loop::Timer interrupt = loop.after(5s, [&] {
    if (inquiry) inquiry->interrupt();
  });
  run_for(1min);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0] == "answer 5" || got[0] == "- 5") << got[0];
  EXPECT_TRUE(is_over);
}

TEST_F(InquiryTest, EndsTheQuestionWithItself) {
  ask(answered_after(loop, 1h, is_over));
  tasks.spawn(wait_for(*this, 2s, 1));
  run_for(1s);
  EXPECT_FALSE(is_over);
  run_for(2s);
  EXPECT_EQ(got, std::vector<std::string>{"- 2"});
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace cadre::cli
