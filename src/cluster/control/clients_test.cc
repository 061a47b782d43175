#include <gtest/gtest.h>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using access::Role;

const SessionId session("s1");
const access::Principal ann{"ann", false, {{"default", Role::editor}}, "t2", ""};
const access::Principal bob{"bob", false, {{"default", Role::editor}}, "t3", ""};

requests::KeepSession keep_session(std::uint64_t seen = 0, Duration wait = 0s) {
  return {session, "laptop", 4711, "train.py", seen, wait};
}

JobSpec actor_of(const SessionId& id = session, std::int32_t slots = 1) {
  JobSpec spec = job_of({slots, 1});
  spec.session = id;
  spec.actor = "Counter";
  return spec;
}

const requests::SessionNews& news(const ControlFixture& fixture) { return fixture.answered<requests::SessionNews>(); }
std::string failure(const ControlFixture& fixture) { return fixture.answered<requests::Failed>().message; }

TEST(Clients, GetEachChangeOnce) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  EXPECT_TRUE(news(fixture).jobs.empty());
  const std::uint64_t nothing = news(fixture).version;
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "keep_session", keep_session(nothing));
  ASSERT_EQ(news(fixture).jobs.size(), 2U);
  EXPECT_EQ(news(fixture).jobs.front().actor, "Counter");
  EXPECT_EQ(news(fixture).jobs.front().session, session);
  const std::uint64_t both = news(fixture).version;
  fixture.ask(ann, "keep_session", keep_session(both));
  EXPECT_TRUE(news(fixture).jobs.empty());
  fixture.ask(ann, "end 1", requests::KillJob{{1}});
  fixture.ask(ann, "keep_session", keep_session(both));
  ASSERT_EQ(news(fixture).jobs.size(), 1U);
  EXPECT_EQ(news(fixture).jobs.front().id, JobId{1});
  EXPECT_EQ(news(fixture).jobs.front().stage, JobStage::ended);
}

TEST(Clients, WaitUntilSomethingIsNew) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "keep_session", keep_session());
  const std::size_t before = fixture.answers();
  fixture.ask(ann, "keep_session", keep_session(news(fixture).version, 4s));
  EXPECT_EQ(fixture.answers(), before);
  fixture.started("a1", lease_of(1));
  ASSERT_EQ(fixture.answers(), before + 1);
  EXPECT_EQ(news(fixture).jobs.front().tasks.front().stage, lease::Stage::running);
  fixture.ask(ann, "keep_session", keep_session(news(fixture).version, 4s));
  fixture.says("a1", messages::Report{lease_of(1), 1, "127.0.0.1:4000"});
  ASSERT_EQ(fixture.answers(), before + 2);
  EXPECT_EQ(news(fixture).jobs.front().tasks.front().last_report, "127.0.0.1:4000");
}

TEST(Clients, GetEachAnnouncementOnce) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.started("a1", lease_of(1));
  fixture.ask(ann, "keep_session", keep_session());
  const std::uint64_t seen = news(fixture).version;
  const messages::Report announcement{lease_of(1), 1, "127.0.0.1:4000", true};
  fixture.says("a1", announcement);
  fixture.says("a1", messages::Report{lease_of(1), 2, "loss 1"});
  fixture.ask(ann, "keep_session", keep_session(seen));
  const requests::TaskView task = news(fixture).jobs.front().tasks.front();
  EXPECT_EQ(task.announcement, "127.0.0.1:4000");
  EXPECT_EQ(task.last_report, "loss 1");
  EXPECT_EQ(task.reports, 1U);
  const std::uint64_t told = news(fixture).version;
  fixture.says("a1", announcement);
  fixture.ask(ann, "keep_session", keep_session(told));
  EXPECT_TRUE(news(fixture).jobs.empty()) << "the same again changes nothing";
  fixture.says("a1", messages::Report{lease_of(1), 3, "127.0.0.1:4001", true});
  fixture.ask(ann, "keep_session", keep_session(told));
  ASSERT_EQ(news(fixture).jobs.size(), 1U);
  EXPECT_EQ(news(fixture).jobs.front().tasks.front().announcement, "127.0.0.1:4001");
}

TEST(Clients, AreAnsweredWhenTheirWaitIsOver) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  const std::uint64_t seen = news(fixture).version;
  fixture.ask(ann, "keep_session", keep_session(seen, 2s));
  fixture.pass(1s);
  EXPECT_EQ(fixture.answers(), 1U);
  fixture.pass(1s);
  EXPECT_EQ(fixture.answers(), 2U);
  EXPECT_TRUE(news(fixture).jobs.empty());
  EXPECT_EQ(news(fixture).version, seen);
}

TEST(Clients, WaitNoLongerThanTheirSilenceWouldBeBorne) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "keep_session", keep_session(news(fixture).version, 60s));
  fixture.pass(5s);
  EXPECT_EQ(fixture.answers(), 2U);
}

TEST(Clients, AreAnsweredAtOnceIfTheyHaveSeenNothing) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session(0, 4s));
  EXPECT_EQ(fixture.answers(), 1U);
}

TEST(Clients, WaitInOnePlaceOnly) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  const std::uint64_t seen = news(fixture).version;
  fixture.ask(ann, "keep_session", keep_session(seen, 4s));
  fixture.ask(ann, "keep_session", keep_session(seen, 4s));
  EXPECT_EQ(fixture.answers(), 2U);
  fixture.leaves();
  fixture.pass(6s);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Clients, GetManyJobsInSeveralResponses) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  std::uint64_t seen = news(fixture).version;
  for (int i = 0; i < 1'001; ++i) fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "keep_session", keep_session(seen, 4s));
  EXPECT_EQ(news(fixture).jobs.size(), 1'000U);
  fixture.ask(ann, "keep_session", keep_session(news(fixture).version, 4s));
  ASSERT_EQ(news(fixture).jobs.size(), 1U);
  EXPECT_EQ(news(fixture).jobs.front().id, JobId{1'001});
}

access::Principal client_in(const std::string& task) {
  access::Principal who = ann;
  who.task = task;
  return who;
}

requests::KeepSession keep_session_as(const std::string& name) {
  return {SessionId(name), "node", 17, "python3", 0, 0s};
}

/// A chain of actors, each made by the one before: job 1 by the driver (s1), job 2 by job 1 (s2), ...
void make_chain(ControlFixture& fixture, std::uint64_t length) {
  fixture.hello("a1", 8);
  for (std::uint64_t i = 1; i <= length; ++i) {
    const access::Principal who = i == 1 ? ann : client_in(std::to_string(i - 1) + ".0");
    const std::string name = "s" + std::to_string(i);
    fixture.ask(who, "keep_session", keep_session_as(name));
    fixture.ask(who, "submit", requests::Submit{actor_of(SessionId(name))});
    fixture.started("a1", lease_of(i));
  }
}

std::size_t stopping(const ControlFixture& fixture, std::uint64_t length) {
  std::size_t count = 0;
  for (std::uint64_t i = 1; i <= length; ++i) count += fixture.job(i).stage != JobStage::running ? 1 : 0;
  return count;
}

TEST(Clients, InActorsEndWithThemAtAllLevelsAtOnce) {
  for (const bool is_killed : {true, false}) {
    ControlFixture fixture;
    make_chain(fixture, 4);
    ASSERT_EQ(fixture.control().sessions().size(), 4U);
    if (is_killed) {
      fixture.ask(ann, "end 1", requests::KillJob{{1}});
    } else {
      fixture.ask(ann, "leave", requests::EndSession{SessionId("s1")});
    }
    EXPECT_EQ(stopping(fixture, 4), 4U);
    EXPECT_EQ(fixture.control().sessions().size(), is_killed ? 1U : 0U);
    // Nor does one of them begin again while it is stopped.
    fixture.ask(client_in("2.0"), "keep_session", keep_session_as("s3"));
    EXPECT_EQ(failure(fixture), "task 2.0 is stopping and cannot open a session");
    EXPECT_EQ(fixture.job(4).why, "its client, task 3.0, has ended");
  }
}

TEST(Clients, InTasksEndWithTheirLease) {
  ControlFixture fixture;
  fixture.hello("a1", 8);
  fixture.ask(ann, "submit", requests::Submit{job_of({1, 1})});
  fixture.started("a1", lease_of(1));
  fixture.ask(client_in("1.0"), "keep_session", keep_session_as("s2"));
  fixture.ask(client_in("1.0"), "submit", requests::Submit{actor_of(SessionId("s2"))});
  fixture.started("a1", lease_of(2));
  fixture.ask(ann, "stop 1", requests::EndJob{{1}, std::nullopt});
  EXPECT_EQ(fixture.job(2).stage, JobStage::running) << "it may need its actors until it has ended";
  fixture.exited("a1", lease_of(1));
  EXPECT_EQ(fixture.job(2).stage, JobStage::stopping);
  EXPECT_TRUE(fixture.control().sessions().empty());
}

TEST(Clients, InActorsAreKnownAgainByARestartedMaster) {
  ControlFixture fixture;
  make_chain(fixture, 2);
  fixture.restart();
  fixture.ask(ann, "keep_session", keep_session_as("s1"));
  fixture.ask(client_in("1.0"), "keep_session", keep_session_as("s2"));
  fixture.ask(ann, "end 1", requests::KillJob{{1}});
  EXPECT_EQ(stopping(fixture, 2), 2U);
}

TEST(Clients, EndTheirJobsWhenTheyAreLost) {
  ControlFixture fixture;
  fixture.hello("a1", 1);
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.submit({1}, "one of another");
  fixture.started("a1", lease_of(1));
  fixture.pass(4s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.pass(2s);
  EXPECT_NE(fixture.text().find("stop 1.0/1: killed_by_user, grace 0s"), std::string::npos) << fixture.text();
  EXPECT_EQ(fixture.job(2).stage, JobStage::ended);
  EXPECT_EQ(fixture.job(2).detail, "its client sent no heartbeat for 5 s");
  fixture.exited("a1", lease_of(1), 9, lease::Reason::signalled);
  EXPECT_EQ(fixture.job(1).stage, JobStage::ended);
  EXPECT_EQ(fixture.job(1).detail, "its client sent no heartbeat for 5 s");
  EXPECT_EQ(fixture.job(3).stage, JobStage::running);
  fixture.ask("why 1", requests::Why{{1}});
  EXPECT_TRUE(
      fixture.answered<requests::Text>().text.starts_with("it was stopped: its client sent no heartbeat for 5 s"));
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::conflict);
}

TEST(Clients, LeaveWithTheirJobs) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(bob, "end the session", requests::EndSession{session});
  EXPECT_EQ(failure(fixture), "you have no session 's1'; see cadre session list");
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "keep_session", keep_session(news(fixture).version, 4s));
  const std::size_t before = fixture.answers();
  fixture.ask(ann, "end the session", requests::EndSession{session});
  EXPECT_EQ(fixture.answers(), before + 2);  // who waited as well
  EXPECT_EQ(fixture.job(1).detail, "its client ended the session");
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Clients, AreKnownAgainAfterARestartOfTheMaster) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "keep_session", keep_session());
  const std::uint64_t seen = news(fixture).version;
  fixture.pass(4s);
  fixture.restart();
  fixture.pass(5s);  // the whole time once more
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.ask(bob, "keep_session", keep_session());
  EXPECT_EQ(failure(fixture), "session 's1' belongs to another user; choose another name");
  fixture.ask(ann, "keep_session", keep_session(seen, 4s));
  ASSERT_EQ(news(fixture).jobs.size(), 1U);  // of what it has seen nothing is known any more
  fixture.pass(5s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.restart();
  fixture.pass(6s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
  fixture.restart();  // its session has ended for good
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Clients, ShareNoSession) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(bob, "keep_session", keep_session());
  EXPECT_EQ(failure(fixture), "session 's1' belongs to another user; choose another name");
  fixture.ask(bob, "submit", requests::Submit{actor_of()});
  EXPECT_EQ(failure(fixture), "session: 's1' belongs to another user; use one of your own");
  fixture.ask(ann, "submit", requests::Submit{actor_of(SessionId("s2"))});
  EXPECT_EQ(failure(fixture),
            "session: there is no session 's2', or it has timed out; open one with PUT /api/v1/sessions/s2");
}

TEST(Clients, GetNoChangesOfWorkspacesThatTheyHaveLost) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  access::Principal outsider = ann;
  outsider.roles.clear();
  fixture.ask(outsider, "keep_session", keep_session());
  EXPECT_TRUE(news(fixture).jobs.empty());
}

TEST(Clients, AreBounded) {
  Settings settings;
  settings.sessions_max = 1;
  ControlFixture fixture(settings);
  fixture.ask(ann, "keep_session", keep_session());
  requests::KeepSession another = keep_session();
  another.session = SessionId("s2");
  fixture.ask(ann, "keep_session", another);
  EXPECT_EQ(failure(fixture), "there are already 1 sessions; raise sessions_max");
  fixture.pass(6s);
  fixture.ask(ann, "keep_session", another);
  EXPECT_TRUE(news(fixture).jobs.empty());
}

TEST(Clients, OfOneUserLeaveRoomForThoseOfOthers) {
  Settings settings;
  settings.sessions_of_user_max = 1;
  ControlFixture fixture(settings);
  fixture.ask(ann, "keep_session", keep_session());
  requests::KeepSession another = keep_session();
  another.session = SessionId("s2");
  fixture.ask(ann, "keep_session", another);
  EXPECT_EQ(failure(fixture),
            "you already have 1 sessions; end some (cadre session list), or raise sessions_of_user_max");
  fixture.ask(bob, "keep_session", another);
  EXPECT_TRUE(news(fixture).jobs.empty());
}

TEST(Clients, AreForgottenWithTheirJobs) {
  Settings settings;
  settings.ended_jobs_kept = 1;
  ControlFixture fixture(settings);
  fixture.ask(ann, "keep_session", keep_session());
  for (std::uint64_t id = 1; id <= 3; ++id) {
    fixture.ask(ann, "submit", requests::Submit{actor_of()});
    fixture.ask(ann, "kill", requests::KillJob{{id}});
  }
  EXPECT_EQ(fixture.control().ledger().jobs_of(session).size(), 1U);
}

TEST(Clients, AreListedToTheirOwnerAndToUsersThatCanSeeTheirJobs) {
  ControlFixture fixture;
  const access::Principal outsider{"eve", false, {{"vision", Role::admin}}, "t4", ""};
  const auto listed = [&](const access::Principal& who) {
    fixture.ask(who, "list sessions", requests::ListSessions{});
    return fixture.answered<requests::Sessions>().sessions;
  };
  EXPECT_TRUE(listed(an_admin()).empty());
  fixture.ask(ann, "keep_session", keep_session());
  EXPECT_EQ(listed(ann).size(), 1U);
  EXPECT_TRUE(listed(bob).empty());  // it has no jobs that bob may see
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.pass(2s);
  for (const access::Principal& who : {ann, bob, an_admin()}) {
    const auto sessions = listed(who);
    ASSERT_EQ(sessions.size(), 1U) << who.user;
    EXPECT_EQ(sessions[0].id, session);
    EXPECT_EQ(sessions[0].owner, "ann");
    EXPECT_EQ(sessions[0].host, "laptop");
    EXPECT_EQ(sessions[0].pid, 4711);
    EXPECT_EQ(sessions[0].program, "train.py");
    EXPECT_EQ(sessions[0].heard, fixture.now() - 2s);
    EXPECT_EQ(sessions[0].actors, 1);
  }
  EXPECT_TRUE(listed(outsider).empty());
  fixture.ask(an_admin(), "end the session", requests::EndSession{session});
  EXPECT_TRUE(listed(ann).empty());
}

TEST(Clients, AreListedPageByPage) {
  ControlFixture fixture;
  for (int i = 0; i < 5; ++i) {
    requests::KeepSession one = keep_session();
    one.session = SessionId("s" + std::to_string(i));
    fixture.ask(ann, "keep_session", one);
  }
  std::vector<std::string> names;
  requests::ListSessions request{2, {}};
  for (int pages = 0; pages < 3; ++pages) {
    fixture.ask(ann, "list sessions", request);
    const auto& page = fixture.answered<requests::Sessions>();
    for (const requests::SessionView& one : page.sessions) names.push_back(one.id.value);
    EXPECT_EQ(page.next.has_value(), pages < 2);
    request.after = page.next.value_or(SessionId());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"s0", "s1", "s2", "s3", "s4"}));
}

TEST(Clients, HaveActorsThatAreListed) {
  ControlFixture fixture;
  const access::Principal outsider{"eve", false, {{"vision", Role::admin}}, "t4", ""};
  const auto listed = [&](const access::Principal& who, const requests::ListActors& request) {
    fixture.ask(who, "list actors", request);
    return fixture.answered<requests::Actors>().actors;
  };
  fixture.hello("a1", 1);
  fixture.ask(ann, "keep_session", keep_session());
  fixture.submit({1}, "no actor");
  fixture.exited("a1", lease_of(1));
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.ask(ann, "submit", requests::Submit{actor_of()});
  fixture.started("a1", lease_of(2));
  messages::Beat beat;
  messages::TaskUsage& usage = beat.tasks.emplace_back();
  usage.lease = lease_of(2);
  usage.usage.memory = ByteSize{1 << 20};
  usage.usage.calls = 12;
  usage.usage.errors = 1;
  fixture.says("a1", beat);
  auto actors = listed(bob, {});
  ASSERT_EQ(actors.size(), 2U);
  EXPECT_EQ(actors[0].id, JobId{3});  // the newest first
  EXPECT_EQ(actors[0].stage, JobStage::queued);
  EXPECT_EQ(actors[1].id, JobId{2});
  EXPECT_EQ(actors[1].actor, "Counter");
  EXPECT_EQ(actors[1].owner, "ann");
  EXPECT_EQ(actors[1].session, session);
  EXPECT_EQ(actors[1].agent, AgentId("a1"));
  EXPECT_EQ(actors[1].memory, ByteSize{1 << 20});
  EXPECT_EQ(actors[1].calls, 12U);
  EXPECT_EQ(actors[1].errors, 1U);
  EXPECT_EQ(actors[1].restarts, 0);
  EXPECT_TRUE(listed(outsider, {}).empty());
  fixture.ask("status", requests::GetStatus{});
  EXPECT_EQ(fixture.answered<requests::Status>().actors, 2);
  EXPECT_EQ(fixture.answered<requests::Status>().sessions, 1);

  fixture.ask(ann, "kill 3", requests::KillJob{{3}});
  EXPECT_EQ(listed(ann, {}).size(), 1U);
  requests::ListActors all;
  all.ended = true;
  EXPECT_EQ(listed(ann, all).size(), 2U);
  all.session = SessionId("another");
  EXPECT_TRUE(listed(ann, all).empty());
  all.session = session;
  all.most = 1;
  EXPECT_EQ(listed(ann, all).size(), 1U);
  EXPECT_EQ(fixture.answered<requests::Actors>().next, JobId{3});
  fixture.restart();
  fixture.ask("status", requests::GetStatus{});
  EXPECT_EQ(fixture.answered<requests::Status>().actors, 1);
}

TEST(Clients, HaveActorsOfOneTaskOnly) {
  ControlFixture fixture;
  fixture.ask(ann, "keep_session", keep_session());
  JobSpec spec = actor_of();
  spec.members.front().count = 2;
  fixture.ask(ann, "submit", requests::Submit{spec});
  const auto& faults = fixture.answered<requests::Failed>().faults;
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().path, "actor");
  spec.members.front().count.reset();
  spec.members.front().slots = 2;  // might be divided over two agents
  fixture.ask(ann, "submit", requests::Submit{spec});
  EXPECT_TRUE(fixture.answer().as<requests::Failed>() != nullptr);
  spec.members.front().count = 1;
  fixture.ask(ann, "submit", requests::Submit{spec});
  EXPECT_TRUE(fixture.answer().as<requests::JobView>() != nullptr);
}

}  // namespace
}  // namespace cadre::cluster::control
