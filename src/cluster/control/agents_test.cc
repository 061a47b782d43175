// Who an agent is, and how it leaves.
#include <gmock/gmock.h>

#include "base/seeds.h"
#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

messages::Hello hello_of(const std::string& name, const std::string& place = "p1", const std::string& boot = "b1") {
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId(name);
  hello.agent.slots = 4;
  hello.slots.resize(4);
  hello.identity = name;
  hello.place = place;
  hello.boot = boot;
  return hello;
}

std::string state_of(ControlFixture& fixture, const std::string& name) {
  fixture.ask("look", requests::GetAgent{AgentId(name)});
  const auto* view = fixture.answer().as<requests::AgentView>();
  return view == nullptr ? "none" : view->state;
}

TEST(AgentCopies, AreRefusedWhileTheAgentCountsAsThere) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.submit({2}, "2 slots");
  messages::Hello copy = hello_of("a1", "p2");
  copy.leases = {lease_of(1)};
  fixture.falls_silent("a1");
  fixture.pass(20s);
  fixture.say_hello("a1", copy);
  EXPECT_THAT(fixture.text(), HasSubstr("refused: agent 'a1' already runs"));
  EXPECT_EQ(fixture.task(1).agent.value, "a1");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
}

TEST(AgentCopies, AreRefusedAfterARestartOfTheMasterToo) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.falls_silent("a1");
  fixture.restart();
  fixture.say_hello("a1", hello_of("a1", "p2"));
  EXPECT_THAT(fixture.text(), HasSubstr("refused: agent 'a1' already runs"));
}

TEST(AgentCopies, TakeThePlaceOfAnAgentThatIsLost) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.falls_silent("a1");
  fixture.pass(40s);
  fixture.say_hello("a1", hello_of("a1", "p2"));
  EXPECT_THAT(fixture.text(), Not(HasSubstr("refused")));
  EXPECT_EQ(state_of(fixture, "a1"), "up");
}

TEST(AgentCopies, OfAWholeDiskAreDistinguishedByTheBootIdOfTheHost) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.say_hello("a1", hello_of("a1", "p1", "b2"));
  EXPECT_THAT(fixture.text(), HasSubstr("refused: agent 'a1' already runs"));
}

TEST(HelloOfAnAgent, IsIgnoredIfALaterOneCameFirst) {
  ControlFixture fixture;
  messages::Hello old = hello_of("a1");
  old.number = 7;
  messages::Hello later = hello_of("a1");
  later.number = 8;
  fixture.say_hello("a1", later);
  fixture.submit({2}, "2 slots");
  fixture.started("a1", lease_of(1));
  fixture.say_hello("a1", old);  // of its connection before: it knew nothing of this lease
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 1U);
  later.number = 9;
  fixture.say_hello("a1", later);  // it has lost the lease
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 2U);
}

TEST(HelloOfAnAgent, IsTakenWhateverItsNumberAfterARebootOfTheHost) {
  ControlFixture fixture;
  messages::Hello hello = hello_of("a1");
  hello.number = 1'000;
  fixture.say_hello("a1", hello);
  fixture.falls_silent("a1");
  fixture.pass(20s);
  hello = hello_of("a1", "p1", "b2");
  hello.number = 1;
  fixture.say_hello("a1", hello);
  EXPECT_EQ(state_of(fixture, "a1"), "up");
}

TEST(StartOfATask, IsRepeatedToAnAgentThatWasRestarted) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.submit({2}, "2 slots");
  fixture.say_hello("a1", hello_of("a1"));
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 1U);
  EXPECT_TRUE(std::holds_alternative<lease::Placed>(fixture.task(1).lease.stage));
}

TEST(StartOfATask, IsNotRepeatedForTheSameLeaseAfterARebootOfTheHost) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.submit({2}, "2 slots");
  fixture.falls_silent("a1");
  fixture.pass(10s);
  fixture.say_hello("a1", hello_of("a1", "p1", "b2"));  // it may have run, and lost what it wrote about it
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 2U);
  EXPECT_EQ(fixture.job(1).runs, 2);
}

TEST(StartOfATask, IsRepeatedByAMasterThatWasRestarted) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.submit({2}, "2 slots");
  fixture.falls_silent("a1");
  fixture.restart();
  fixture.say_hello("a1", hello_of("a1"));
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 1U);
}

TEST(StartOfATask, IsNotRepeatedAfterARebootOfTheHostWhileThereWasNoMaster) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.submit({2}, "2 slots");
  fixture.falls_silent("a1");
  fixture.restart();
  fixture.say_hello("a1", hello_of("a1", "p1", "b2"));
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 2U);
}

TEST(AgentCopies, AreNotRestarts) {
  ControlFixture fixture;
  fixture.say_hello("a1", hello_of("a1"));
  fixture.say_hello("a1", hello_of("a1"));  // the agent was killed and started again
  fixture.falls_silent("a1");
  fixture.pass(10s);
  fixture.say_hello("a1", hello_of("a1", "p1", "b2"));  // its host was
  EXPECT_THAT(fixture.text(), Not(HasSubstr("refused")));
}

TEST(AgentsOfOtherClusters, AreRefused) {
  Settings settings;
  settings.cluster = "c1";
  ControlFixture fixture(settings);
  messages::Hello hello = hello_of("a1");
  hello.cluster = "c2";
  fixture.say_hello("a1", hello);
  EXPECT_THAT(fixture.text(), HasSubstr("refused: its data belongs to cluster c2"));
  hello.cluster = "";
  fixture.say_hello("a1", hello);
  EXPECT_EQ(state_of(fixture, "a1"), "up");
}

TEST(Goodbye, TakesTheSlotsOutAtOnce) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.says("a1", messages::Goodbye{true});
  fixture.falls_silent("a1");
  EXPECT_EQ(state_of(fixture, "a1"), "stopped");
  fixture.submit({1}, "1 slot");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.restart();
  EXPECT_EQ(state_of(fixture, "a1"), "stopped");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.hello("a1");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(state_of(fixture, "a1"), "up");
}

TEST(Goodbye, IsHeardOfAnAgentThatHasNotReadItsWelcome) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.says_in(0, "a1", messages::Beat{});
  EXPECT_EQ(state_of(fixture, "a1"), "up");
  fixture.says_in(0, "a1", messages::Goodbye{true});
  EXPECT_EQ(state_of(fixture, "a1"), "stopped");
}

TEST(Goodbye, KeepsTasksThatGoOnUntilTheAgentIsLost) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.started("a1", lease_of(1));
  fixture.says("a1", messages::Goodbye{true});
  fixture.falls_silent("a1");
  fixture.pass(10s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.hello("a1");  // back in time
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 1U);
  fixture.says("a1", messages::Goodbye{true});
  fixture.falls_silent("a1");
  fixture.pass(40s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
}

TEST(RemoveAgent, RevokesTheKeyRunsItsJobsElsewhereAndFreesTheName) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.started("a1", lease_of(1));
  fixture.hello("a2");
  fixture.ask("remove", requests::RemoveAgent{AgentId("a1")});
  EXPECT_TRUE(fixture.answer().as<requests::Done>() != nullptr);
  EXPECT_THAT(fixture.text(), HasSubstr("to a1     refused: agent 'a1' was removed"));
  EXPECT_EQ(fixture.task(1).agent.value, "a2");
  EXPECT_EQ(fixture.task(1).lease.epoch.value, 2U);
  EXPECT_EQ(fixture.task(1).restarts, 0);
  EXPECT_EQ(state_of(fixture, "a1"), "none");
  fixture.says("a1", messages::Exited{lease_of(1), {lease::Reason::exited, 0, "", {}, 0}});
  EXPECT_EQ(fixture.job(1).stage, JobStage::running) << "what a removed agent says changes nothing";
  messages::Hello other = hello_of("a1", "p9");
  other.identity = "another";
  fixture.say_hello("a1", other);
  EXPECT_EQ(state_of(fixture, "a1"), "up");
}

TEST(RemoveAgent, RefusesAHelloThatCameWithTheRemoval) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.remove_with_hello("a1");
  EXPECT_EQ(state_of(fixture, "a1"), "none") << "it would be up, and its key is revoked";
  EXPECT_THAT(fixture.text(), HasSubstr("to a1     refused: agent 'a1' was removed"));
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.hello("a1");
  EXPECT_EQ(state_of(fixture, "a1"), "up") << "it may join again";
}

TEST(RemoveAgent, LetsStrictlyFencedTasksWaitUntilTheirPermitsHaveEnded) {
  ControlFixture fixture;
  fixture.hello("a1");
  JobSpec spec = job_of({1});
  spec.members.front().policy.fence = Fence::strict;
  fixture.submit(spec, "1 slot, strict");
  fixture.started("a1", lease_of(1));
  fixture.hello("a2");
  fixture.ask("remove", requests::RemoveAgent{AgentId("a1")});
  fixture.falls_silent("a1");
  fixture.pass(25s);
  EXPECT_EQ(fixture.task(1).agent.value, "a1");
  EXPECT_EQ(state_of(fixture, "a1"), "removed");
  fixture.pass(10s);
  EXPECT_EQ(fixture.task(1).agent.value, "a2");
  EXPECT_EQ(state_of(fixture, "a1"), "none");
}

TEST(RemoveAgent, OfAGangThatStillStopsElsewhere) {
  ControlFixture fixture;
  fixture.hello("a1", 2);
  fixture.hello("a2", 2);
  fixture.submit({2, 2}, "2 tasks of 2 slots");
  for (std::uint32_t i = 0; i < 2; ++i) fixture.started(fixture.task(1, i).agent.value, lease_of(1, i));
  fixture.ask("remove", requests::RemoveAgent{AgentId("a1")});
  fixture.falls_silent("a1");
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
  const std::uint32_t other = fixture.task(1, 0).agent.value == "a2" ? 0 : 1;
  fixture.exited("a2", lease_of(1, other), 15, lease::Reason::signalled);
  fixture.pass(2s);
  EXPECT_EQ(state_of(fixture, "a1"), "none");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
}

TEST(RemoveAgent, IsForAdmins) {
  ControlFixture fixture;
  fixture.hello("a1");
  access::Principal ann{"ann", false, {}, "t2", ""};
  fixture.ask(ann, "remove", requests::RemoveAgent{AgentId("a1")});
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::denied);
  EXPECT_EQ(state_of(fixture, "a1"), "up");
  fixture.ask("remove", requests::RemoveAgent{AgentId("a9")});
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::not_found);
}

TEST(EndingsAndReports, CountOnlyFromTheAgentThatHoldsTheLease) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.started("a1", lease_of(1));
  fixture.hello("a2");
  fixture.says("a2", messages::Exited{lease_of(1), {lease::Reason::exited, 0, "", {}, 0}});
  fixture.says("a2", messages::Report{lease_of(1), 1, "forged"});
  fixture.says("a2", messages::Started{lease_of(1)});
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(fixture.task(1).reports, 0U);
}

TEST(Announcements, CountOnlyFromTheHolderOfTheNewestLease) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.started("a1", lease_of(1));
  fixture.hello("a2");
  fixture.says("a2", messages::Report{lease_of(1), 1, "forged", true});
  fixture.says("a1", messages::Report{lease_of(1, 0, 2), 1, "of another epoch", true});
  EXPECT_EQ(fixture.task(1).announcement, "");
  fixture.says("a1", messages::Report{lease_of(1), 1, std::string(32'769, 'x'), true});
  EXPECT_EQ(fixture.task(1).announcement, "");
  fixture.says("a1", messages::Report{lease_of(1), 2, "here", true});
  EXPECT_EQ(fixture.task(1).announcement, "here");
}

TEST(Announcements, AreOfOneRun) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "1 slot");
  fixture.started("a1", lease_of(1));
  fixture.says("a1", messages::Report{lease_of(1), 1, "here", true});
  fixture.says("a1", messages::Report{lease_of(1), 2, "loss 1"});
  fixture.restart();
  EXPECT_EQ(fixture.control().ledger().find(TaskId{{1}, 0})->announcement, "here");
  fixture.falls_silent("a1");
  fixture.pass(40s);
  fixture.hello("a1");
  EXPECT_EQ(fixture.task(1).announcement, "here") << "the same process comes back";
  fixture.falls_silent("a1");
  fixture.hello("a2");
  fixture.pass(40s);
  EXPECT_EQ(fixture.task(1).lease.epoch, Epoch{2});
  EXPECT_EQ(fixture.task(1).announcement, "");
  EXPECT_EQ(fixture.task(1).last_report, "loss 1");
  fixture.says("a1", messages::Report{lease_of(1), 3, "still here", true});
  EXPECT_EQ(fixture.task(1).announcement, "");
}

}  // namespace
}  // namespace cadre::cluster::control
