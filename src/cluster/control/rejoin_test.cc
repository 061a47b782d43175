#include <gtest/gtest.h>

#include "cluster/control/desk_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

/// Two agents with a gang of two tasks that fills both.
class GangOverTwoAgents : public testing::Test {
 protected:
  GangOverTwoAgents() {
    desk.hello("a1");
    desk.hello("a2");
    desk.submit({4, 2}, "a gang over two agents");
    for (const char* name : {"a1", "a2"}) {
      for (const LeaseId& lease : std::set<LeaseId>(desk.runs(name))) desk.started(name, lease);
    }
  }
  void both_fall_silent() {
    desk.falls_silent("a1");
    desk.falls_silent("a2");
  }
  bool goes_on() const { return desk.job(1).stage == JobStage::running && desk.job(1).runs == 1 && runs(0) && runs(1); }
  bool runs(std::uint32_t member) const {
    const TaskRow& task = desk.task(1, member);
    return std::holds_alternative<lease::Running>(task.lease.stage) && task.lease.epoch.value == 1;
  }
  std::string slots_state(const std::string& name) {
    desk.ask("look", requests::GetAgent{AgentId(name)});
    return std::get<requests::AgentView>(desk.answer()).state;
  }

  Desk desk;
};

TEST_F(GangOverTwoAgents, GoesOnAfterTheMasterWasStopped) {
  desk.sleeps(10min);
  EXPECT_TRUE(goes_on()) << "nobody was heard, because nobody listened";
  desk.pass(60s);
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(slots_state("a1"), "up");
}

TEST_F(GangOverTwoAgents, GoesOnAlthoughTheMasterIsStoppedAgainAndAgain) {
  desk.falls_silent("a1");
  for (int i = 0; i < 10; ++i) {
    desk.pass(2s);
    desk.sleeps(40s);
  }
  EXPECT_TRUE(goes_on()) << "30 s of silence have not passed while the master ran";
  desk.pass(12s);
  EXPECT_FALSE(goes_on()) << "now they have";
}

TEST_F(GangOverTwoAgents, StopsIfAnAgentIsReallyGoneAfterTheMasterWasStopped) {
  desk.falls_silent("a1");
  desk.sleeps(10min);
  desk.pass(29s);
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  desk.pass(3s);
  EXPECT_EQ(desk.job(1).stage, JobStage::stopping);
  EXPECT_EQ(slots_state("a1"), "lost");
}

TEST(GangOverTwoAgentsWithAShortTimeout, GoesOnThoughOneWasHeardABeatAfterTheOther) {
  Settings settings;
  settings.agent_timeout = 3s;
  Desk desk(settings);
  desk.hello("a1");
  desk.hello("a2");
  desk.submit({4, 2}, "a gang over two agents");
  desk.falls_silent("a1");
  desk.pass(1s);
  desk.falls_silent("a2");
  desk.pass(3s);
  EXPECT_EQ(desk.job(1).stage, JobStage::running) << "only one is lost, but the other may be";
  desk.pass(1s);
  EXPECT_EQ(desk.job(1).stage, JobStage::queued) << "both are lost";
  EXPECT_EQ(desk.job(1).runs, 1);
}

TEST_F(GangOverTwoAgents, RefusesAnotherAgentOfThatNameAfterTheMasterWasStopped) {
  desk.sleeps(10min);
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("a1");
  hello.identity = "another";
  desk.say_hello("x", hello);
  EXPECT_NE(desk.text().find("already runs on host"), std::string::npos);
}

TEST_F(GangOverTwoAgents, IsTakenBackWhenBothWereLostAndComeBack) {
  both_fall_silent();
  desk.pass(40s);
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  desk.hello("a1");
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  EXPECT_EQ(desk.runs("a1").size(), 1U) << "its lease waits for the rest of the gang";
  desk.pass(10s);
  desk.hello("a2");
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(desk.control().remembered(), 0U);
  for (const std::uint32_t member : {0U, 1U}) {
    desk.exited(desk.task(1, member).agent.value, lease_of(1, member));
  }
  EXPECT_EQ(desk.job(1).stage, JobStage::ended);
  EXPECT_EQ(desk.job(1).code, 0);
  desk.submit({4, 2}, "the next");
  EXPECT_EQ(desk.job(2).stage, JobStage::running) << "both agents offer their slots again";
}

TEST_F(GangOverTwoAgents, IsTakenBackAlsoIfTheMasterRestartsInBetween) {
  both_fall_silent();
  desk.pass(40s);
  desk.hello("a1");
  desk.restart();
  desk.hello("a2");
  EXPECT_TRUE(goes_on());
}

TEST_F(GangOverTwoAgents, RunsAgainIfOnlyOneComesBack) {
  both_fall_silent();
  desk.pass(40s);
  desk.hello("a1");
  desk.hello("a3");
  EXPECT_EQ(desk.job(1).stage, JobStage::queued) << "a1 offers nothing while its lease waits";
  desk.pass(31s);
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  desk.hello("a1");  // as it was told to
  EXPECT_TRUE(desk.runs("a1").empty()) << "it is to end what it runs";
  desk.hello("a1");
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  EXPECT_EQ(desk.job(1).runs, 2);
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, RunsElsewhereAtOnceIfThereIsRoom) {
  both_fall_silent();
  desk.pass(40s);
  desk.hello("a1");
  desk.hello("a3");
  desk.hello("a4");
  EXPECT_EQ(desk.job(1).runs, 2);
  EXPECT_EQ(desk.control().remembered(), 0U);
  desk.hello("a1");
  EXPECT_TRUE(desk.runs("a1").empty());
  desk.hello("a2");
  EXPECT_TRUE(desk.runs("a2").empty());
}

TEST_F(GangOverTwoAgents, CountsWhatWasSaidWhileItWaited) {
  both_fall_silent();
  desk.pass(40s);
  desk.hello("a1");
  const LeaseId lease = *desk.runs("a1").begin();
  desk.says("a1", messages::Report{lease, 1, "half of it"});
  EXPECT_EQ(desk.task(1, lease.task.member).reports, 0U);
  desk.exited("a1", lease, 7);
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  desk.hello("a2");
  EXPECT_EQ(desk.task(1, lease.task.member).reports, 1U);
  EXPECT_EQ(desk.task(1, lease.task.member).ending.code, 7);
  EXPECT_EQ(desk.job(1).stage, JobStage::stopping) << "one of it failed";
}

TEST_F(GangOverTwoAgents, WaitsForTheOtherIfTheyAreNotLostAtTheSameTime) {
  desk.falls_silent("a1");
  desk.pass(10s);
  desk.falls_silent("a2");
  desk.pass(22s);
  EXPECT_EQ(slots_state("a1"), "lost");
  EXPECT_EQ(desk.job(1).stage, JobStage::running) << "its other agent is silent as well";
  desk.hello("a2");
  desk.pass(1s);
  desk.hello("a1");
  EXPECT_TRUE(goes_on());
  desk.pass(20s);
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, WaitsForTheLostOneOnlyForAMoment) {
  desk.falls_silent("a1");
  desk.pass(10s);
  desk.falls_silent("a2");
  desk.pass(22s);
  desk.hello("a2");
  desk.pass(5s);
  EXPECT_EQ(desk.job(1).stage, JobStage::stopping);
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, CanBeStoppedWhileItWaits) {
  both_fall_silent();
  desk.pass(40s);
  desk.hello("a1");
  desk.ask("kill", requests::KillJob{{1}});
  EXPECT_EQ(desk.job(1).stage, JobStage::ended);
  EXPECT_EQ(desk.control().remembered(), 0U);
  desk.hello("a1");
  EXPECT_TRUE(desk.runs("a1").empty());
}

}  // namespace
}  // namespace cadre::cluster::control
