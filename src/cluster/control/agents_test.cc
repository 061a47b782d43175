// Who an agent is, and how it leaves.
#include <gmock/gmock.h>

#include "base/seeds.h"
#include "cluster/control/desk_for_tests.h"

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

std::string state_of(Desk& desk, const std::string& name) {
  desk.ask("look", requests::GetAgent{AgentId(name)});
  const auto* view = std::get_if<requests::AgentView>(&desk.answer());
  return view == nullptr ? "none" : view->state;
}

TEST(AgentCopies, AreRefusedWhileTheAgentCountsAsThere) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.submit({2}, "2 slots");
  messages::Hello copy = hello_of("a1", "p2");
  copy.leases = {lease_of(1)};
  desk.falls_silent("a1");
  desk.pass(20s);
  desk.say_hello("a1", copy);
  EXPECT_THAT(desk.text(), HasSubstr("refused: agent 'a1' already runs"));
  EXPECT_EQ(desk.task(1).agent.value, "a1");
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
}

TEST(AgentCopies, AreRefusedAfterARestartOfTheMasterToo) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.falls_silent("a1");
  desk.restart();
  desk.say_hello("a1", hello_of("a1", "p2"));
  EXPECT_THAT(desk.text(), HasSubstr("refused: agent 'a1' already runs"));
}

TEST(AgentCopies, TakeThePlaceOfAnAgentThatIsLost) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.falls_silent("a1");
  desk.pass(40s);
  desk.say_hello("a1", hello_of("a1", "p2"));
  EXPECT_THAT(desk.text(), Not(HasSubstr("refused")));
  EXPECT_EQ(state_of(desk, "a1"), "up");
}

TEST(AgentCopies, OfAWholeDiskAreToldApartByTheStartOfTheirHost) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.say_hello("a1", hello_of("a1", "p1", "b2"));
  EXPECT_THAT(desk.text(), HasSubstr("refused: agent 'a1' already runs"));
}

TEST(HelloOfAnAgent, IsIgnoredIfALaterOneCameFirst) {
  Desk desk;
  messages::Hello old = hello_of("a1");
  old.number = 7;
  messages::Hello later = hello_of("a1");
  later.number = 8;
  desk.say_hello("a1", later);
  desk.submit({2}, "2 slots");
  desk.started("a1", lease_of(1));
  desk.say_hello("a1", old);  // of its connection before: it knew nothing of this lease
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  EXPECT_EQ(desk.task(1).lease.epoch.value, 1U);
  later.number = 9;
  desk.say_hello("a1", later);  // it has lost the lease
  EXPECT_EQ(desk.task(1).lease.epoch.value, 2U);
}

TEST(HelloOfAnAgent, IsTakenWhateverItsNumberAfterARebootOfTheHost) {
  Desk desk;
  messages::Hello hello = hello_of("a1");
  hello.number = 1'000;
  desk.say_hello("a1", hello);
  desk.falls_silent("a1");
  desk.pass(20s);
  hello = hello_of("a1", "p1", "b2");
  hello.number = 1;
  desk.say_hello("a1", hello);
  EXPECT_EQ(state_of(desk, "a1"), "up");
}

TEST(StartOfATask, IsRepeatedToAnAgentThatWasRestarted) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.submit({2}, "2 slots");
  desk.say_hello("a1", hello_of("a1"));
  EXPECT_EQ(desk.task(1).lease.epoch.value, 1U);
  EXPECT_TRUE(std::holds_alternative<lease::Placed>(desk.task(1).lease.stage));
}

TEST(StartOfATask, IsNotRepeatedForTheSameLeaseAfterARebootOfTheHost) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.submit({2}, "2 slots");
  desk.falls_silent("a1");
  desk.pass(10s);
  desk.say_hello("a1", hello_of("a1", "p1", "b2"));  // it may have run, and lost what it wrote about it
  EXPECT_EQ(desk.task(1).lease.epoch.value, 2U);
  EXPECT_EQ(desk.job(1).runs, 2);
}

TEST(StartOfATask, IsRepeatedByAMasterThatWasRestarted) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.submit({2}, "2 slots");
  desk.falls_silent("a1");
  desk.restart();
  desk.say_hello("a1", hello_of("a1"));
  EXPECT_EQ(desk.task(1).lease.epoch.value, 1U);
}

TEST(StartOfATask, IsNotRepeatedAfterARebootOfTheHostWhileThereWasNoMaster) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.submit({2}, "2 slots");
  desk.falls_silent("a1");
  desk.restart();
  desk.say_hello("a1", hello_of("a1", "p1", "b2"));
  EXPECT_EQ(desk.task(1).lease.epoch.value, 2U);
}

TEST(AgentCopies, AreNotRestarts) {
  Desk desk;
  desk.say_hello("a1", hello_of("a1"));
  desk.say_hello("a1", hello_of("a1"));  // the agent was killed and started again
  desk.falls_silent("a1");
  desk.pass(10s);
  desk.say_hello("a1", hello_of("a1", "p1", "b2"));  // its host was
  EXPECT_THAT(desk.text(), Not(HasSubstr("refused")));
}

TEST(AgentsOfOtherClusters, AreRefused) {
  Settings settings;
  settings.cluster = "c1";
  Desk desk(settings);
  messages::Hello hello = hello_of("a1");
  hello.cluster = "c2";
  desk.say_hello("a1", hello);
  EXPECT_THAT(desk.text(), HasSubstr("refused: its data belongs to cluster c2"));
  hello.cluster = "";
  desk.say_hello("a1", hello);
  EXPECT_EQ(state_of(desk, "a1"), "up");
}

TEST(Goodbye, TakesTheSlotsOutAtOnce) {
  Desk desk;
  desk.hello("a1");
  desk.says("a1", messages::Goodbye{true});
  desk.falls_silent("a1");
  EXPECT_EQ(state_of(desk, "a1"), "stopped");
  desk.submit({1}, "1 slot");
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  desk.restart();
  EXPECT_EQ(state_of(desk, "a1"), "stopped");
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
  desk.hello("a1");
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  EXPECT_EQ(state_of(desk, "a1"), "up");
}

TEST(Goodbye, IsHeardOfAnAgentThatHasNotReadItsWelcome) {
  Desk desk;
  desk.hello("a1");
  desk.says_in(0, "a1", messages::Beat{});
  EXPECT_EQ(state_of(desk, "a1"), "up");
  desk.says_in(0, "a1", messages::Goodbye{true});
  EXPECT_EQ(state_of(desk, "a1"), "stopped");
}

TEST(Goodbye, KeepsTasksThatGoOnUntilTheAgentIsLost) {
  Desk desk;
  desk.hello("a1");
  desk.submit({1}, "1 slot");
  desk.started("a1", lease_of(1));
  desk.says("a1", messages::Goodbye{true});
  desk.falls_silent("a1");
  desk.pass(10s);
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  desk.hello("a1");  // back in time
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  EXPECT_EQ(desk.task(1).lease.epoch.value, 1U);
  desk.says("a1", messages::Goodbye{true});
  desk.falls_silent("a1");
  desk.pass(40s);
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
}

TEST(RemoveAgent, RevokesTheKeyRunsItsJobsElsewhereAndFreesTheName) {
  Desk desk;
  desk.hello("a1");
  desk.submit({1}, "1 slot");
  desk.started("a1", lease_of(1));
  desk.hello("a2");
  desk.ask("remove", requests::RemoveAgent{AgentId("a1")});
  EXPECT_TRUE(std::holds_alternative<requests::Done>(desk.answer()));
  EXPECT_THAT(desk.text(), HasSubstr("to a1     refused: agent 'a1' was removed"));
  EXPECT_EQ(desk.task(1).agent.value, "a2");
  EXPECT_EQ(desk.task(1).lease.epoch.value, 2U);
  EXPECT_EQ(desk.task(1).restarts, 0);
  EXPECT_EQ(state_of(desk, "a1"), "none");
  desk.says("a1", messages::Exited{lease_of(1), {lease::Reason::exited, 0, "", {}, 0}});
  EXPECT_EQ(desk.job(1).stage, JobStage::running) << "what a removed agent says changes nothing";
  messages::Hello other = hello_of("a1", "p9");
  other.identity = "another";
  desk.say_hello("a1", other);
  EXPECT_EQ(state_of(desk, "a1"), "up");
}

TEST(RemoveAgent, LetsStrictlyFencedTasksWaitUntilTheirPermitsHaveEnded) {
  Desk desk;
  desk.hello("a1");
  JobSpec spec = job_of({1});
  spec.members.front().manners.fence = Fence::strict;
  desk.submit(spec, "1 slot, strict");
  desk.started("a1", lease_of(1));
  desk.hello("a2");
  desk.ask("remove", requests::RemoveAgent{AgentId("a1")});
  desk.falls_silent("a1");
  desk.pass(25s);
  EXPECT_EQ(desk.task(1).agent.value, "a1");
  EXPECT_EQ(state_of(desk, "a1"), "removed");
  desk.pass(10s);
  EXPECT_EQ(desk.task(1).agent.value, "a2");
  EXPECT_EQ(state_of(desk, "a1"), "none");
}

TEST(RemoveAgent, OfAGangThatStillStopsElsewhere) {
  Desk desk;
  desk.hello("a1", 2);
  desk.hello("a2", 2);
  desk.submit({2, 2}, "2 tasks of 2 slots");
  for (std::uint32_t i = 0; i < 2; ++i) desk.started(desk.task(1, i).agent.value, lease_of(1, i));
  desk.ask("remove", requests::RemoveAgent{AgentId("a1")});
  desk.falls_silent("a1");
  EXPECT_EQ(desk.job(1).stage, JobStage::stopping);
  const std::uint32_t other = desk.task(1, 0).agent.value == "a2" ? 0 : 1;
  desk.exited("a2", lease_of(1, other), 15, lease::Reason::signalled);
  desk.pass(2s);
  EXPECT_EQ(state_of(desk, "a1"), "none");
  EXPECT_EQ(desk.job(1).stage, JobStage::queued);
}

TEST(RemoveAgent, IsForAdmins) {
  Desk desk;
  desk.hello("a1");
  access::Principal ann{"ann", false, {}, "t2", ""};
  desk.ask(ann, "remove", requests::RemoveAgent{AgentId("a1")});
  EXPECT_EQ(std::get<requests::Failed>(desk.answer()).code, Errc::denied);
  EXPECT_EQ(state_of(desk, "a1"), "up");
  desk.ask("remove", requests::RemoveAgent{AgentId("a9")});
  EXPECT_EQ(std::get<requests::Failed>(desk.answer()).code, Errc::not_found);
}

TEST(EndingsAndReports, CountOnlyFromTheAgentThatHoldsTheLease) {
  Desk desk;
  desk.hello("a1");
  desk.submit({1}, "1 slot");
  desk.started("a1", lease_of(1));
  desk.hello("a2");
  desk.says("a2", messages::Exited{lease_of(1), {lease::Reason::exited, 0, "", {}, 0}});
  desk.says("a2", messages::Report{lease_of(1), 1, "forged"});
  desk.says("a2", messages::Started{lease_of(1)});
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  EXPECT_EQ(desk.task(1).reports, 0U);
}

}  // namespace
}  // namespace cadre::cluster::control
