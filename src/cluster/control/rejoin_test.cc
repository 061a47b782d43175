#include <gtest/gtest.h>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

/// Two agents with a gang of two tasks that fills both.
class GangOverTwoAgents : public testing::Test {
 protected:
  GangOverTwoAgents() {
    fixture.hello("a1");
    fixture.hello("a2");
    fixture.submit({4, 2}, "a gang over two agents");
    for (const char* name : {"a1", "a2"}) {
      for (const LeaseId& lease : std::set<LeaseId>(fixture.runs(name))) fixture.started(name, lease);
    }
  }
  void both_fall_silent() {
    fixture.falls_silent("a1");
    fixture.falls_silent("a2");
  }
  bool goes_on() const {
    return fixture.job(1).stage == JobStage::running && fixture.job(1).runs == 1 && runs(0) && runs(1);
  }
  bool runs(std::uint32_t member) const {
    const TaskRow& task = fixture.task(1, member);
    return std::holds_alternative<lease::Running>(task.lease.stage) && task.lease.epoch.value == 1;
  }
  std::string slots_state(const std::string& name) {
    fixture.ask("look", requests::GetAgent{AgentId(name)});
    return fixture.answered<requests::AgentView>().state;
  }

  ControlFixture fixture;
};

TEST_F(GangOverTwoAgents, GoesOnAfterTheMasterWasStopped) {
  fixture.sleeps(10min);
  EXPECT_TRUE(goes_on()) << "nobody was heard, because nobody listened";
  fixture.pass(60s);
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(slots_state("a1"), "up");
}

TEST_F(GangOverTwoAgents, GoesOnAlthoughTheMasterIsStoppedAgainAndAgain) {
  fixture.falls_silent("a1");
  for (int i = 0; i < 10; ++i) {
    fixture.pass(2s);
    fixture.sleeps(40s);
  }
  EXPECT_TRUE(goes_on()) << "30 s of silence have not passed while the master ran";
  fixture.pass(12s);
  EXPECT_FALSE(goes_on()) << "now they have";
}

TEST_F(GangOverTwoAgents, StopsIfAnAgentIsLostAfterTheMasterWasStopped) {
  fixture.falls_silent("a1");
  fixture.sleeps(10min);
  fixture.pass(29s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.pass(3s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
  EXPECT_EQ(slots_state("a1"), "lost");
}

TEST(GangOverTwoAgentsWithAShortTimeout, GoesOnThoughOneWasHeardABeatAfterTheOther) {
  Settings settings;
  settings.agent_timeout = 3s;
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.hello("a2");
  fixture.submit({4, 2}, "a gang over two agents");
  fixture.falls_silent("a1");
  fixture.pass(1s);
  fixture.falls_silent("a2");
  fixture.pass(3s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running) << "only one is lost, but the other may be";
  fixture.pass(1s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued) << "both are lost";
  EXPECT_EQ(fixture.job(1).runs, 1);
}

TEST_F(GangOverTwoAgents, RefusesAnotherAgentOfThatNameAfterTheMasterWasStopped) {
  fixture.sleeps(10min);
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("a1");
  hello.identity = "another";
  fixture.say_hello("x", hello);
  EXPECT_NE(fixture.text().find("already runs on host"), std::string::npos);
}

TEST_F(GangOverTwoAgents, IsTakenBackWhenBothWereLostAndComeBack) {
  both_fall_silent();
  fixture.pass(40s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.hello("a1");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  EXPECT_EQ(fixture.runs("a1").size(), 1U) << "its lease waits for the rest of the gang";
  fixture.pass(10s);
  fixture.hello("a2");
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(fixture.control().remembered(), 0U);
  for (const std::uint32_t member : {0U, 1U}) {
    fixture.exited(fixture.task(1, member).agent.value, lease_of(1, member));
  }
  EXPECT_EQ(fixture.job(1).stage, JobStage::ended);
  EXPECT_EQ(fixture.job(1).code, 0);
  fixture.submit({4, 2}, "the next");
  EXPECT_EQ(fixture.job(2).stage, JobStage::running) << "both agents offer their slots again";
}

TEST_F(GangOverTwoAgents, IsTakenBackAlsoIfTheMasterRestartsInBetween) {
  both_fall_silent();
  fixture.pass(40s);
  fixture.hello("a1");
  fixture.restart();
  fixture.hello("a2");
  EXPECT_TRUE(goes_on());
}

TEST_F(GangOverTwoAgents, RunsAgainIfOnlyOneComesBack) {
  both_fall_silent();
  fixture.pass(40s);
  fixture.hello("a1");
  fixture.hello("a3");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued) << "a1 offers nothing while its lease waits";
  fixture.pass(31s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.hello("a1");  // as it was told to
  EXPECT_TRUE(fixture.runs("a1").empty()) << "it is to end what it runs";
  fixture.hello("a1");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(fixture.job(1).runs, 2);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, RunsElsewhereAtOnceIfThereIsRoom) {
  both_fall_silent();
  fixture.pass(40s);
  fixture.hello("a1");
  fixture.hello("a3");
  fixture.hello("a4");
  EXPECT_EQ(fixture.job(1).runs, 2);
  EXPECT_EQ(fixture.control().remembered(), 0U);
  fixture.hello("a1");
  EXPECT_TRUE(fixture.runs("a1").empty());
  fixture.hello("a2");
  EXPECT_TRUE(fixture.runs("a2").empty());
}

TEST_F(GangOverTwoAgents, CountsReportsReceivedWhileItWaited) {
  both_fall_silent();
  fixture.pass(40s);
  fixture.hello("a1");
  const LeaseId lease = *fixture.runs("a1").begin();
  fixture.says("a1", messages::Report{lease, 1, "half of it"});
  EXPECT_EQ(fixture.task(1, lease.task.member).reports, 0U);
  fixture.exited("a1", lease, 7);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.hello("a2");
  EXPECT_EQ(fixture.task(1, lease.task.member).reports, 1U);
  EXPECT_EQ(fixture.task(1, lease.task.member).ending.code, 7);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping) << "one of it failed";
}

TEST_F(GangOverTwoAgents, WaitsForTheOtherIfTheyAreNotLostAtTheSameTime) {
  fixture.falls_silent("a1");
  fixture.pass(10s);
  fixture.falls_silent("a2");
  fixture.pass(22s);
  EXPECT_EQ(slots_state("a1"), "lost");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running) << "its other agent is silent as well";
  fixture.hello("a2");
  fixture.pass(1s);
  fixture.hello("a1");
  EXPECT_TRUE(goes_on());
  fixture.pass(20s);
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, WaitsForTheLostOneOnlyForAMoment) {
  fixture.falls_silent("a1");
  fixture.pass(10s);
  fixture.falls_silent("a2");
  fixture.pass(22s);
  fixture.hello("a2");
  fixture.pass(5s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST_F(GangOverTwoAgents, CanBeStoppedWhileItWaits) {
  both_fall_silent();
  fixture.pass(40s);
  fixture.hello("a1");
  fixture.ask("kill", requests::KillJob{{1}});
  EXPECT_EQ(fixture.job(1).stage, JobStage::ended);
  EXPECT_EQ(fixture.control().remembered(), 0U);
  fixture.hello("a1");
  EXPECT_TRUE(fixture.runs("a1").empty());
}

}  // namespace
}  // namespace cadre::cluster::control
