#include "cluster/control/jobs/history.h"

#include <gmock/gmock.h>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using lease::Reason;
using testing::HasSubstr;
using testing::Not;

requests::JobView shown(ControlFixture& fixture, std::uint64_t id) {
  fixture.ask("describe " + std::to_string(id), requests::GetJob{{id}, std::nullopt});
  return fixture.answered<requests::JobView>();
}

std::string why(ControlFixture& fixture, std::uint64_t id) {
  fixture.ask("why " + std::to_string(id), requests::Why{{id}});
  return fixture.answered<requests::Text>().text;
}

requests::Status status(ControlFixture& fixture) {
  fixture.ask("status", requests::GetStatus{});
  return fixture.answered<requests::Status>();
}

TEST(History, ShowsWhatAJobRunsAndNoValuesOfItsVariables) {
  ControlFixture fixture;
  JobSpec spec = job_of({2, 3});
  spec.members.front().command.argv = {"python3", "train.py"};
  spec.members.front().command.variables = {{"MODE", "test"}, {"SECRET", "hunter2"}};
  spec.members.front().memory = {1 << 30};
  fixture.submit(spec, "three");
  EXPECT_TRUE(fixture.answered<requests::JobView>().members.empty()) << "only when one job is asked for";
  const requests::JobView view = shown(fixture, 1);
  ASSERT_EQ(view.members.size(), 1U);
  EXPECT_EQ(view.members[0].argv, (std::vector<std::string>{"python3", "train.py"}));
  EXPECT_EQ(view.members[0].count, 3);
  EXPECT_EQ(view.members[0].slots, 2);
  EXPECT_EQ(view.members[0].variables, (std::vector<std::string>{"MODE", "SECRET"}));
  EXPECT_THAT(describe::write_json(view), Not(HasSubstr("hunter2")));
  EXPECT_EQ(view.reason, std::nullopt) << "it has not ended";
  EXPECT_EQ(view.code, std::nullopt);
}

TEST(History, KeepsTheUserThatStoppedAJobAcrossARestart) {
  ControlFixture fixture;
  fixture.hello("a1");
  const access::Principal ann{"ann", true, {}, "t2", ""};
  fixture.submit({1}, "one");
  fixture.started("a1", lease_of(1));
  fixture.ask(ann, "stop", requests::EndJob{{1}, std::nullopt});
  EXPECT_EQ(shown(fixture, 1).stop, "stopped by ann");
  fixture.restart();
  EXPECT_EQ(why(fixture, 1), "is stopping: stopped by ann");
  fixture.ask("kill", requests::EndJob{{1}, Duration{0}});
  EXPECT_EQ(shown(fixture, 1).stopped_by, "admin") << "who kills it ends it for good";
  fixture.exited("a1", lease_of(1), 9, Reason::signalled);
  fixture.restart();
  const requests::JobView view = shown(fixture, 1);
  EXPECT_EQ(view.reason, Reason::killed_by_user);
  EXPECT_EQ(view.stop, "killed by admin");
  EXPECT_THAT(why(fixture, 1), testing::StartsWith("it was killed by admin\n"));
}

TEST(History, KeepsForWhichJobOneWasPreemptedOverARestart) {
  Settings settings;
  settings.pools["default"].policy = plan::PriorityPolicy{};
  std::get<plan::PriorityPolicy>(settings.pools["default"].policy).preemption = true;
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.submit({4, {}, {}, 50, true}, "low, preemptible");
  fixture.started("a1", lease_of(1));
  fixture.submit({4, {}, {}, 10}, "high");
  EXPECT_EQ(shown(fixture, 1).stage, JobStage::stopping);
  EXPECT_EQ(shown(fixture, 1).stop, "preempted for job 2 (priority 10)");
  fixture.restart();
  EXPECT_EQ(why(fixture, 1), "is stopping: preempted for job 2 (priority 10)");
  fixture.pass(2s);
  fixture.exited("a1", lease_of(1), 15, Reason::signalled);
  fixture.restart();
  const requests::JobView view = shown(fixture, 1);
  EXPECT_EQ(view.stage, JobStage::queued);
  EXPECT_EQ(view.stop, "") << "it is not stopped any more";
  ASSERT_EQ(view.attempts.size(), 1U);
  EXPECT_EQ(view.attempts[0].run, 1);
  EXPECT_EQ(view.attempts[0].reason, Reason::preempted);
  EXPECT_EQ(view.attempts[0].stop, "preempted for job 2 (priority 10)");
  EXPECT_EQ(view.attempts[0].agents, std::vector{AgentId("a1")});
  EXPECT_THAT(why(fixture, 1), HasSubstr("run 1 on a1 ended after 2 s: preempted for job 2 (priority 10)"));
}

TEST(History, DoesNotNameAPreemptingJobOfAnotherWorkspace) {
  Settings settings;
  settings.pools["default"].policy = plan::PriorityPolicy{};
  std::get<plan::PriorityPolicy>(settings.pools["default"].policy).preemption = true;
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.submit({4, {}, {}, 50, true}, "low, preemptible");
  fixture.started("a1", lease_of(1));
  JobSpec other = job_of({4, {}, {}, 10});
  other.workspace = "secret";
  fixture.submit(other, "high, elsewhere");
  EXPECT_EQ(shown(fixture, 1).stop, "preempted for another job of priority 10");
}

TEST(History, ForgetsALostRunThatCameBack) {
  Settings settings;
  settings.agent_timeout = 10s;
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.submit({1}, "one");
  fixture.started("a1", lease_of(1));
  fixture.falls_silent("a1");
  fixture.pass(20s);
  ASSERT_EQ(shown(fixture, 1).attempts.size(), 1U);
  EXPECT_EQ(shown(fixture, 1).attempts[0].stop, "agent a1 was lost");
  fixture.hello("a1");
  EXPECT_EQ(shown(fixture, 1).stage, JobStage::running);
  EXPECT_TRUE(shown(fixture, 1).attempts.empty()) << "nothing was lost after all";
}

TEST(History, KeepsOnlyTheLastAttempts) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1}, "one");
  for (std::uint64_t run = 1; run <= attempts_most + 3; ++run) {
    fixture.started("a1", lease_of(1, 0, run));
    fixture.ask("disable", requests::SetAgent{AgentId("a1"), SlotState::disabled});
    EXPECT_EQ(shown(fixture, 1).stop, "agent a1 was disabled by admin");
    fixture.exited("a1", lease_of(1, 0, run), 15, Reason::signalled);
    fixture.ask("enable", requests::SetAgent{AgentId("a1"), SlotState::enabled});
  }
  const auto attempts = shown(fixture, 1).attempts;
  ASSERT_EQ(attempts.size(), attempts_most);
  EXPECT_EQ(attempts.front().run, 4);
  EXPECT_EQ(attempts.back().run, static_cast<std::int32_t>(attempts_most) + 3);
}

TEST(History, NamesTheTaskForWhichTheOthersWereStopped) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({1, 3}, "three");
  for (std::uint32_t i = 0; i < 3; ++i) fixture.started("a1", lease_of(1, i));
  fixture.exited("a1", lease_of(1, 1), 7);
  fixture.pass(1s);
  fixture.exited("a1", lease_of(1, 0), 15, Reason::signalled);
  fixture.exited("a1", lease_of(1, 2), 0);
  const requests::JobView view = shown(fixture, 1);
  EXPECT_EQ(view.failed, (TaskId{{1}, 1}));
  EXPECT_EQ(view.code, 7);
  EXPECT_THAT(why(fixture, 1),
              HasSubstr("\n  task 1.1 (rank 1 on a1) failed first; the others were stopped because of it\n"));
}

TEST(History, NamesAgentsThatTakeNoWork) {
  Settings settings;
  settings.agent_timeout = 30s;
  ControlFixture fixture(settings);
  for (const char* name : {"busy", "draining", "gone", "off", "silent"}) fixture.hello(name);
  fixture.says("gone", messages::Goodbye{true});
  fixture.falls_silent("gone");
  fixture.ask("drain", requests::SetAgent{AgentId("draining"), SlotState::draining});
  fixture.ask("disable", requests::SetAgent{AgentId("off"), SlotState::disabled});
  fixture.submit({4}, "all of busy or silent");
  fixture.submit({4}, "the other");
  fixture.falls_silent("silent");
  fixture.submit({4}, "waits");
  fixture.pass(10s);
  EXPECT_THAT(why(fixture, 3), HasSubstr("\n  agents that accept no work: draining is draining, gone is stopped, "
                                         "off is disabled, silent is silent"));
  fixture.pass(30s);
  EXPECT_THAT(why(fixture, 3), HasSubstr("silent is lost"));
  std::map<std::string, std::string> off;
  for (const requests::AgentNote& note : status(fixture).agents_off) off[note.id.value] = note.state;
  const std::map<std::string, std::string> expected{
      {"draining", "draining"}, {"gone", "stopped"}, {"off", "disabled"}, {"silent", "lost"}};
  EXPECT_EQ(off, expected);
  fixture.restart();
  off.clear();
  for (const requests::AgentNote& note : status(fixture).agents_off) off[note.id.value] = note.state;
  EXPECT_EQ(off, expected) << "a restart of the master changes nothing";
}

TEST(History, OnlyAnAgentThatFellSilentIsNotedAsLost) {
  Settings settings;
  settings.agent_timeout = 30s;
  ControlFixture fixture(settings);
  for (const char* name : {"stops", "leaves", "silent"}) fixture.hello(name);
  fixture.says("stops", messages::Goodbye{true});
  fixture.falls_silent("stops");
  fixture.ask("remove", requests::RemoveAgent{AgentId("leaves")});
  fixture.falls_silent("silent");
  fixture.pass(60s);
  EXPECT_THAT(fixture.text(), HasSubstr("agent stops stopped"));
  EXPECT_THAT(fixture.text(), HasSubstr("agent leaves removed"));
  EXPECT_THAT(fixture.text(), HasSubstr("agent silent lost"));
  EXPECT_THAT(fixture.text(), Not(HasSubstr("agent stops lost")));
  EXPECT_THAT(fixture.text(), Not(HasSubstr("agent leaves lost")));
}

TEST(History, ListsByKindStateAndName) {
  ControlFixture fixture;
  requests::KeepSession session;
  session.session = SessionId("s");
  fixture.ask("open a session", session);
  JobSpec actor = job_of({0});
  actor.session = SessionId("s");
  actor.actor = "Counter";
  fixture.submit(actor, "an actor");
  JobSpec named = job_of({1});
  named.name = "train resnet";
  fixture.submit(named, "a job");
  fixture.ask("kill", requests::EndJob{{2}, Duration{0}});
  fixture.submit(named, "another");
  const auto listed = [&](requests::ListJobs request) {
    fixture.ask("list", std::move(request));
    const auto& jobs = fixture.answered<requests::Jobs>();
    std::string ids;
    for (const requests::JobView& job : jobs.jobs) ids += std::to_string(job.id.value);
    return ids + (jobs.actors_skipped == 0 ? "" : " without " + std::to_string(jobs.actors_skipped));
  };
  requests::ListJobs request;
  EXPECT_EQ(listed(request), "321");
  request.kind = requests::JobKind::job;
  EXPECT_EQ(listed(request), "32 without 1");
  request.kind = requests::JobKind::actor;
  EXPECT_EQ(listed(request), "1");
  request.kind.reset();
  request.state = requests::JobState::failed;
  EXPECT_EQ(listed(request), "2");
  request.state = requests::state_of(JobStage::queued);
  EXPECT_EQ(listed(request), "31");
  request.name = "resnet";
  EXPECT_EQ(listed(request), "3");
  access::Principal ann;
  ann.user = "ann";
  ann.is_admin = true;
  fixture.ask(ann, "submit", requests::Submit{named});
  EXPECT_EQ(listed(request), "43");
  request.owner = "ann";
  EXPECT_EQ(listed(request), "4");
  request.owner = "nobody";
  EXPECT_EQ(listed(request), "");
}

struct InputTest : testing::Test {
  InputTest() {
    fixture.hello("a1");
    JobSpec spec = job_of({1});
    spec.members.front().command.input = true;
    fixture.submit(spec, "with input");
  }
  requests::SendInput piece(std::uint64_t exec, std::string_view text) {
    requests::SendInput request;
    request.task = {{1}, 0};
    request.exec = exec;
    request.bytes.assign(as_bytes(text).begin(), as_bytes(text).end());
    return request;
  }
  template <class T>
  const T* answered() {
    return fixture.answer().as<T>();
  }
  ControlFixture fixture;
};

TEST_F(InputTest, ReachesTheTaskAndIsAnsweredWithHowMuchWasTaken) {
  fixture.ask("too early", piece(0, "x"));
  ASSERT_NE(answered<requests::Failed>(), nullptr);
  EXPECT_EQ(answered<requests::Failed>()->code, Errc::conflict);
  fixture.started("a1", lease_of(1));
  const std::size_t before = fixture.answers();
  fixture.ask("input", piece(0, "hello"));
  EXPECT_THAT(fixture.text(), HasSubstr("to a1     input for 1.0/1: hello"));
  EXPECT_EQ(fixture.answers(), before) << "nobody knows yet what became of it";
  fixture.says("a1", messages::InputTaken{lease_of(1), {0, 5, ""}});
  ASSERT_NE(answered<requests::InputState>(), nullptr);
  EXPECT_EQ(answered<requests::InputState>()->offset, 5);
  fixture.says("a1", messages::InputTaken{lease_of(1), {0, 5, ""}});
  EXPECT_EQ(fixture.answers(), before + 1) << "who has an answer gets no second one";
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST_F(InputTest, IsRefusedWhenTheTaskEnds) {
  fixture.started("a1", lease_of(1));
  fixture.ask("input", piece(0, "one"));
  fixture.ask("input again", piece(0, "one"));
  EXPECT_THAT(fixture.text(), HasSubstr("conflict: other input was sent before this was accepted"));
  fixture.exited("a1", lease_of(1));
  EXPECT_THAT(fixture.text(), HasSubstr("conflict: the task has ended"));
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Entering, NeedsTheRightToStartSuchATask) {
  const access::Principal admin{"root", true, {}, "t1", ""};
  const access::Principal ann{"ann", false, {{"default", access::Role::editor}}, "t2", ""};
  const access::Principal chief{"eve", false, {{"default", access::Role::admin}}, "t3", ""};
  const access::Principal task{"root", false, {{"default", access::Role::editor}}, "", "9.0"};
  ControlFixture fixture;
  fixture.hello("a1");
  JobSpec plain = job_of({0});
  JobSpec of_root = plain;
  of_root.members.front().policy.run_as_root = true;
  JobSpec open = plain;
  open.members.front().policy.isolation = Isolation::off;
  fixture.ask(ann, "submit 1", requests::Submit{plain});
  fixture.ask(admin, "submit 2", requests::Submit{of_root});
  fixture.ask(admin, "submit 3", requests::Submit{open});
  for (const std::uint64_t job : {1, 2, 3}) fixture.started("a1", lease_of(job));
  const auto enters = [&](const access::Principal& who, std::uint64_t job) {
    fixture.ask(who, "exec", requests::RunExec{{{job}, 0}, {"ls"}});
    const auto* failed = fixture.answer().as<requests::Failed>();
    EXPECT_TRUE(failed == nullptr || failed->code == Errc::denied);
    return failed == nullptr;
  };
  EXPECT_TRUE(enters(ann, 1) && enters(admin, 1) && enters(admin, 2) && enters(admin, 3));
  EXPECT_FALSE(enters(chief, 1)) << "it would run as ann";
  EXPECT_FALSE(enters(chief, 2) || enters(task, 2) || enters(chief, 3) || enters(task, 3));
  fixture.ask(task, "submit without isolation", requests::Submit{open});
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::denied);
  fixture.ask(task, "submit", requests::Submit{plain});
  EXPECT_TRUE(fixture.answer().as<requests::JobView>() != nullptr);
}

TEST_F(InputTest, IsNotDisplacedByAnAcknowledgementOfOutput) {
  fixture.started("a1", lease_of(1));
  fixture.ask("exec", requests::RunExec{{{1}, 0}, {"cat"}, true});
  const std::uint64_t number = answered<messages::ExecNews>()->number;
  const std::size_t before = fixture.answers();
  fixture.ask("input", piece(number, "mine"));
  requests::SendInput seen = piece(number, "");
  seen.seen = 1'000;
  fixture.ask("acknowledgement", seen);
  EXPECT_EQ(fixture.answers(), before + 1) << "the acknowledgement is answered at once, the input is still under way";
  ASSERT_NE(answered<requests::InputState>(), nullptr);
  EXPECT_THAT(fixture.text(), Not(HasSubstr("other input was sent")));
  fixture.says("a1", messages::InputTaken{lease_of(1), {number, 4, ""}});
  EXPECT_EQ(fixture.answers(), before + 2);
  ASSERT_NE(answered<requests::InputState>(), nullptr);
  EXPECT_EQ(answered<requests::InputState>()->offset, 4);
}

TEST_F(InputTest, IsRefusedWhereItDoesNotBelong) {
  fixture.started("a1", lease_of(1));
  fixture.ask("to a command that does not run", piece(77, "x"));
  EXPECT_EQ(answered<requests::Failed>()->code, Errc::not_found);
  fixture.ask("exec", requests::RunExec{{{1}, 0}, {"cat"}, true});
  const auto* news = answered<messages::ExecNews>();
  ASSERT_NE(news, nullptr) << "its number is told at once";
  const std::uint64_t number = news->number;
  const access::Principal eve{"eve", true, {}, "t9", ""};
  fixture.ask(eve, "input for the command of another", piece(number, "x"));
  EXPECT_EQ(answered<requests::Failed>()->code, Errc::not_found);
  fixture.ask("input", piece(number, "mine"));
  EXPECT_THAT(fixture.text(), HasSubstr("to a1     input for 1.0/1: mine"));
  fixture.leaves();
  fixture.submit({1}, "without input");
  fixture.started("a1", lease_of(2));
  requests::SendInput request = piece(0, "x");
  request.task = {{2}, 0};
  fixture.ask("input", request);
  EXPECT_EQ(answered<requests::Failed>()->code, Errc::invalid);
}

}  // namespace
}  // namespace cadre::cluster::control
