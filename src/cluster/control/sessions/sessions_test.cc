#include "cluster/control/sessions/sessions.h"

#include <gtest/gtest.h>

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint start{std::chrono::hours(1)};
const SessionId id("s1");

TEST(Sessions, GiveUpAClientThatIsSilentForTooLong) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(sessions.tick(start + i * 1s).gone.empty());
  EXPECT_EQ(sessions.tick(start + 5001ms).gone, std::vector{id});
}

TEST(Sessions, CountAWaitingClientAsAlive) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  sessions.wait(id, {7, {}, 0, start + 60s});
  for (int i = 1; i <= 20; ++i) EXPECT_TRUE(sessions.tick(start + i * 1s).gone.empty());
  sessions.forget_asker(7);
  EXPECT_EQ(sessions.waiting(), 0U);
  for (int i = 21; i <= 25; ++i) EXPECT_TRUE(sessions.tick(start + i * 1s).gone.empty());
  EXPECT_EQ(sessions.tick(start + 26s).gone, std::vector{id});
}

TEST(Sessions, ReportWaitersPastTheirDeadline) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  sessions.wait(id, {7, {}, 3, start + 2s});
  EXPECT_TRUE(sessions.tick(start + 1s).waited.empty());
  EXPECT_EQ(sessions.tick(start + 2s).waited, std::vector{id});
  EXPECT_EQ(sessions.stop_waiting(id)->seen, 3U);
  EXPECT_EQ(sessions.stop_waiting(id), std::nullopt);
}

TEST(Sessions, DoNotExpireForTimeInWhichTheMasterWasStopped) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  EXPECT_TRUE(sessions.tick(start + 60s).gone.empty());
  for (int i = 61; i <= 65; ++i) EXPECT_TRUE(sessions.tick(start + i * 1s).gone.empty());
  EXPECT_EQ(sessions.tick(start + 66s).gone, std::vector{id});
}

TEST(Sessions, ForgetWaitersWithTheirSession) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  sessions.wait(id, {7, {}, 0, start + 2s});
  sessions.close(id);
  EXPECT_EQ(sessions.find(id), nullptr);
  EXPECT_EQ(sessions.waiting(), 0U);
  sessions.forget_asker(7);
}

TEST(Sessions, NoteLeasesThatAreOverOnceIfTheyHadSessions) {
  Sessions sessions(5s, start);
  const LeaseId lease{{{1}, 0}, {1}};
  sessions.open(id, "ann", start);
  sessions.set_parent(id, lease);
  sessions.note_over({{{2}, 0}, {1}});
  sessions.note_over(lease);
  EXPECT_EQ(sessions.take_over(), std::vector{lease});
  EXPECT_TRUE(sessions.take_over().empty());
}

TEST(Sessions, TakeOnlyJobsOfTheirOwner) {
  Sessions sessions(5s, start);
  sessions.open(id, "ann", start);
  EXPECT_EQ(sessions.obstacle_to_joining(id, "ann"), std::nullopt);
  EXPECT_EQ(sessions.obstacle_to_joining(SessionId(), "bob"), std::nullopt);
  EXPECT_EQ(sessions.obstacle_to_joining(id, "bob")->code, Errc::denied);
  EXPECT_EQ(sessions.obstacle_to_joining(SessionId("s2"), "ann")->code, Errc::conflict);
}

}  // namespace
}  // namespace cadre::cluster::control
