// Agents come and go while a task runs; nothing of it is lost.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;

class Agents : public Rig {
 protected:
  static bool has_ended(const Status& status) { return status.ending.has_value(); }
};

TEST_F(Agents, OneThatIsKilledIsFollowedByAnotherAndNothingIsLost) {
  const std::string folder =
      begin(script("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.005; done; exit 9"));
  const pid_t first = ::fork();
  ASSERT_GE(first, 0);
  if (first == 0) {
    FakeAgent agent(folder);
    while (agent.next<Status>()) {
    }
    ::_exit(0);
  }
  wait_for("output", [&] { return output(folder).size() > 100; });
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  FakeAgent second(folder);
  const auto last = second.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->code, 9);
  EXPECT_EQ(last->output_end, last->ending->output_end);
  EXPECT_EQ(*last->ending, wait_for_ending(folder));
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(output(folder), expected);
}

TEST_F(Agents, TheTaskGoesOnAndEndsWithoutAny) {
  const std::string folder = begin(script("sleep 0.3; echo done; exit 2"));
  { FakeAgent agent(folder); }
  EXPECT_EQ(wait_for_ending(folder).code, 2);
  EXPECT_EQ(output(folder), "done\n");
}

TEST_F(Agents, TheLastConnectedAgentReplacesTheFirst) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent first(folder);
  ASSERT_TRUE(first.running());
  FakeAgent second(folder);
  ASSERT_TRUE(second.running());
  while (first.next<Status>()) {  // until it is closed
  }
  second.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_TRUE(second.status(has_ended));
}

TEST_F(Agents, TheLastWordsOfOneThatEndsAreHeard) {
  const std::string folder = begin(script("sleep 1000"));
  {
    FakeAgent first(folder);
    ASSERT_TRUE(first.running());
    first.send(Stop{Reason::killed_by_user, Duration{0}});
  }
  EXPECT_EQ(wait_for_ending(folder).code, SIGKILL);
}

TEST_F(Agents, OneThatReadsNothingHoldsNothingUp) {
  const std::string folder =
      begin(script("i=0; while [ $i -lt 2000 ]; do echo line; i=$((i+1)); done; sleep 2; exit 3"));
  FakeAgent agent(folder);  // never reads
  EXPECT_EQ(wait_for_ending(folder).code, 3);
}

TEST_F(Agents, AStatusComesWithoutAnyNews) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(agent.next<Status>());
}

TEST_F(Agents, ReportsAreAcknowledgedToTheirSender) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  Peer one = Peer::connect(folder, "task.sock");
  Peer two = Peer::connect(folder, "task.sock");
  one.send(FromTask(Report{1, "of one"}));
  const auto first = agent.next<Report>();
  two.send(FromTask(Report{1, "of two"}));
  const auto second = agent.next<Report>();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->body, "of one");
  EXPECT_EQ(second->body, "of two");
  EXPECT_NE(first->number, second->number);
  agent.send(ReportAnswer{second->number, false, "an old epoch"});
  agent.send(ReportAnswer{first->number, true, ""});
  const auto to_two = two.receive<ToTask>();
  const auto to_one = one.receive<ToTask>();
  ASSERT_TRUE(to_one && to_two);
  EXPECT_EQ(std::get<ReportAnswer>(*to_two).number, 1U);
  EXPECT_EQ(std::get<ReportAnswer>(*to_two).why, "an old epoch");
  EXPECT_TRUE(std::get<ReportAnswer>(*to_one).accepted);
}

TEST_F(Agents, AnnouncementsAreNotReports) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  Peer process = Peer::connect(folder, "task.sock");
  process.send(FromTask(Report{1, "here", true}));
  const auto announcement = agent.next<Report>();
  ASSERT_TRUE(announcement);
  EXPECT_TRUE(announcement->is_announcement);
  EXPECT_EQ(announcement->body, "here");
  process.send(FromTask(Report{2, "loss 1"}));
  const auto report = agent.next<Report>();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->is_announcement);
}

TEST_F(Agents, ReportsWithoutAnAnswerAreSentAgainToTheNextOne) {
  const std::string folder = begin(script("sleep 1000"));
  Peer process = Peer::connect(folder, "task.sock");
  process.send(FromTask(Report{1, "before any agent"}));
  std::uint64_t number = 0;
  {
    FakeAgent first(folder);
    const auto report = first.next<Report>();
    ASSERT_TRUE(report);
    number = report->number;
  }
  FakeAgent second(folder);
  const auto again = second.next<Report>();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, number);
  EXPECT_EQ(again->body, "before any agent");
  second.send(ReportAnswer{number, true, ""});
  EXPECT_TRUE(std::get<ReportAnswer>(*process.receive<ToTask>()).accepted);
}

TEST_F(Agents, TooManyReportsAreRefusedInWords) {
  const std::string folder = begin(script("sleep 1000"));
  Peer process = Peer::connect(folder, "task.sock");
  for (std::uint64_t i = 1; i <= 64; ++i) ASSERT_TRUE(process.send(FromTask(Report{i, std::string(32'768, 'x')})));
  const auto answer = process.receive<ToTask>();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(std::get<ReportAnswer>(*answer).accepted);
  EXPECT_EQ(std::get<ReportAnswer>(*answer).number, 33U) << "a megabyte waits";
}

}  // namespace
}  // namespace cadre::supervisor
