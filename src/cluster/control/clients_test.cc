#include <gtest/gtest.h>

#include "cluster/control/desk_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using access::Role;

const SessionId session("s1");
const access::Principal ann{"ann", false, {{"default", Role::editor}}, "t2", ""};
const access::Principal bob{"bob", false, {{"default", Role::editor}}, "t3", ""};

requests::Attend attend_to(std::uint64_t seen = 0, Duration wait = 0s) {
  return {session, "laptop", 4711, "train.py", seen, wait};
}

JobSpec actor_of(const SessionId& id = session, std::int32_t slots = 1) {
  JobSpec spec = job_of({slots, 1});
  spec.session = id;
  spec.actor = "Counter";
  return spec;
}

const requests::SessionNews& news(const Desk& desk) { return std::get<requests::SessionNews>(desk.answer()); }
std::string failure(const Desk& desk) { return std::get<requests::Failed>(desk.answer()).message; }

TEST(Clients, AreToldOfEachChangeOnce) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  EXPECT_TRUE(news(desk).jobs.empty());
  const std::uint64_t nothing = news(desk).version;
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "attend", attend_to(nothing));
  ASSERT_EQ(news(desk).jobs.size(), 2U);
  EXPECT_EQ(news(desk).jobs.front().actor, "Counter");
  EXPECT_EQ(news(desk).jobs.front().session, session);
  const std::uint64_t both = news(desk).version;
  desk.ask(ann, "attend", attend_to(both));
  EXPECT_TRUE(news(desk).jobs.empty());
  desk.ask(ann, "end 1", requests::KillJob{{1}});
  desk.ask(ann, "attend", attend_to(both));
  ASSERT_EQ(news(desk).jobs.size(), 1U);
  EXPECT_EQ(news(desk).jobs.front().id, JobId{1});
  EXPECT_EQ(news(desk).jobs.front().stage, JobStage::ended);
}

TEST(Clients, WaitUntilSomethingIsNew) {
  Desk desk;
  desk.hello("a1");
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "attend", attend_to());
  const std::size_t before = desk.answers();
  desk.ask(ann, "attend", attend_to(news(desk).version, 4s));
  EXPECT_EQ(desk.answers(), before);
  desk.started("a1", lease_of(1));
  ASSERT_EQ(desk.answers(), before + 1);
  EXPECT_EQ(news(desk).jobs.front().tasks.front().stage, "running");
  desk.ask(ann, "attend", attend_to(news(desk).version, 4s));
  desk.says("a1", messages::Report{lease_of(1), 1, "127.0.0.1:4000"});
  ASSERT_EQ(desk.answers(), before + 2);
  EXPECT_EQ(news(desk).jobs.front().tasks.front().last_report, "127.0.0.1:4000");
}

TEST(Clients, AreAnsweredWhenTheirWaitIsOver) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  const std::uint64_t seen = news(desk).version;
  desk.ask(ann, "attend", attend_to(seen, 2s));
  desk.pass(1s);
  EXPECT_EQ(desk.answers(), 1U);
  desk.pass(1s);
  EXPECT_EQ(desk.answers(), 2U);
  EXPECT_TRUE(news(desk).jobs.empty());
  EXPECT_EQ(news(desk).version, seen);
}

TEST(Clients, WaitNoLongerThanTheirSilenceWouldBeBorne) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "attend", attend_to(news(desk).version, 60s));
  desk.pass(5s);
  EXPECT_EQ(desk.answers(), 2U);
}

TEST(Clients, AreAnsweredAtOnceIfTheyHaveSeenNothing) {
  Desk desk;
  desk.ask(ann, "attend", attend_to(0, 4s));
  EXPECT_EQ(desk.answers(), 1U);
}

TEST(Clients, WaitInOnePlaceOnly) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  const std::uint64_t seen = news(desk).version;
  desk.ask(ann, "attend", attend_to(seen, 4s));
  desk.ask(ann, "attend", attend_to(seen, 4s));
  EXPECT_EQ(desk.answers(), 2U);
  desk.leaves();
  desk.pass(6s);
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST(Clients, AreToldOfManyJobsInSeveralAnswers) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  std::uint64_t seen = news(desk).version;
  for (int i = 0; i < 1'001; ++i) desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "attend", attend_to(seen, 4s));
  EXPECT_EQ(news(desk).jobs.size(), 1'000U);
  desk.ask(ann, "attend", attend_to(news(desk).version, 4s));
  ASSERT_EQ(news(desk).jobs.size(), 1U);
  EXPECT_EQ(news(desk).jobs.front().id, JobId{1'001});
}

access::Principal client_in(const std::string& task) {
  access::Principal who = ann;
  who.task = task;
  return who;
}

requests::Attend attend_as(const std::string& name) { return {SessionId(name), "node", 17, "python3", 0, 0s}; }

/// A chain of actors, each made by the one before: job 1 by the driver (s1), job 2 by job 1 (s2), ...
void make_chain(Desk& desk, std::uint64_t length) {
  desk.hello("a1", 8);
  for (std::uint64_t i = 1; i <= length; ++i) {
    const access::Principal who = i == 1 ? ann : client_in(std::to_string(i - 1) + ".0");
    const std::string name = "s" + std::to_string(i);
    desk.ask(who, "attend", attend_as(name));
    desk.ask(who, "submit", requests::Submit{actor_of(SessionId(name))});
    desk.started("a1", lease_of(i));
  }
}

std::size_t stopping(const Desk& desk, std::uint64_t length) {
  std::size_t count = 0;
  for (std::uint64_t i = 1; i <= length; ++i) count += desk.job(i).stage != JobStage::running ? 1 : 0;
  return count;
}

TEST(Clients, InActorsEndWithThemAtAllLevelsAtOnce) {
  for (const bool is_killed : {true, false}) {
    Desk desk;
    make_chain(desk, 4);
    ASSERT_EQ(desk.control().sessions().size(), 4U);
    if (is_killed) {
      desk.ask(ann, "end 1", requests::KillJob{{1}});
    } else {
      desk.ask(ann, "leave", requests::EndSession{SessionId("s1")});
    }
    EXPECT_EQ(stopping(desk, 4), 4U);
    EXPECT_EQ(desk.control().sessions().size(), is_killed ? 1U : 0U);
    // Nor does one of them begin again while it is stopped.
    desk.ask(client_in("2.0"), "attend", attend_as("s3"));
    EXPECT_EQ(failure(desk), "task 2.0 is stopping and cannot open a session");
    EXPECT_EQ(desk.job(4).why, "its client, task 3.0, has ended");
  }
}

TEST(Clients, InTasksEndWithTheirLease) {
  Desk desk;
  desk.hello("a1", 8);
  desk.ask(ann, "submit", requests::Submit{job_of({1, 1})});
  desk.started("a1", lease_of(1));
  desk.ask(client_in("1.0"), "attend", attend_as("s2"));
  desk.ask(client_in("1.0"), "submit", requests::Submit{actor_of(SessionId("s2"))});
  desk.started("a1", lease_of(2));
  desk.ask(ann, "stop 1", requests::EndJob{{1}, std::nullopt});
  EXPECT_EQ(desk.job(2).stage, JobStage::running) << "it may need its actors until it has ended";
  desk.exited("a1", lease_of(1));
  EXPECT_EQ(desk.job(2).stage, JobStage::stopping);
  EXPECT_TRUE(desk.control().sessions().empty());
}

TEST(Clients, InActorsAreKnownAgainByARestartedMaster) {
  Desk desk;
  make_chain(desk, 2);
  desk.restart();
  desk.ask(ann, "attend", attend_as("s1"));
  desk.ask(client_in("1.0"), "attend", attend_as("s2"));
  desk.ask(ann, "end 1", requests::KillJob{{1}});
  EXPECT_EQ(stopping(desk, 2), 2U);
}

TEST(Clients, TakeTheirJobsWithThemWhenTheyAreGone) {
  Desk desk;
  desk.hello("a1", 1);
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.submit({1}, "one of another");
  desk.started("a1", lease_of(1));
  desk.pass(4s);
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  desk.pass(2s);
  EXPECT_NE(desk.text().find("stop 1.0/1: killed_by_user, grace 0s"), std::string::npos) << desk.text();
  EXPECT_EQ(desk.job(2).stage, JobStage::ended);
  EXPECT_EQ(desk.job(2).detail, "its client sent no heartbeat for 5 s");
  desk.exited("a1", lease_of(1), 9, lease::Reason::signalled);
  EXPECT_EQ(desk.job(1).stage, JobStage::ended);
  EXPECT_EQ(desk.job(1).detail, "its client sent no heartbeat for 5 s");
  EXPECT_EQ(desk.job(3).stage, JobStage::running);
  desk.ask("why 1", requests::Why{{1}});
  EXPECT_TRUE(
      std::get<requests::Text>(desk.answer()).text.starts_with("it was stopped: its client sent no heartbeat for 5 s"));
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  EXPECT_EQ(std::get<requests::Failed>(desk.answer()).code, Errc::conflict);
}

TEST(Clients, LeaveWithTheirJobs) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(bob, "end the session", requests::EndSession{session});
  EXPECT_EQ(failure(desk), "you have no session 's1'; see cadre session list");
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "attend", attend_to(news(desk).version, 4s));
  const std::size_t before = desk.answers();
  desk.ask(ann, "end the session", requests::EndSession{session});
  EXPECT_EQ(desk.answers(), before + 2);  // who waited as well
  EXPECT_EQ(desk.job(1).detail, "its client ended the session");
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST(Clients, AreKnownAgainAfterARestartOfTheMaster) {
  Desk desk;
  desk.hello("a1");
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "attend", attend_to());
  const std::uint64_t seen = news(desk).version;
  desk.pass(4s);
  desk.restart();
  desk.pass(5s);  // the whole time once more
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  desk.ask(bob, "attend", attend_to());
  EXPECT_EQ(failure(desk), "session 's1' belongs to another user; choose another name");
  desk.ask(ann, "attend", attend_to(seen, 4s));
  ASSERT_EQ(news(desk).jobs.size(), 1U);  // of what it has seen nothing is known any more
  desk.pass(5s);
  EXPECT_EQ(desk.job(1).stage, JobStage::running);
  desk.restart();
  desk.pass(6s);
  EXPECT_EQ(desk.job(1).stage, JobStage::stopping);
  desk.restart();  // its session has ended for good
  EXPECT_EQ(desk.control().remembered(), 0U);
}

TEST(Clients, ShareNoSession) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  desk.ask(bob, "attend", attend_to());
  EXPECT_EQ(failure(desk), "session 's1' belongs to another user; choose another name");
  desk.ask(bob, "submit", requests::Submit{actor_of()});
  EXPECT_EQ(failure(desk), "session: 's1' belongs to another user; use one of your own");
  desk.ask(ann, "submit", requests::Submit{actor_of(SessionId("s2"))});
  EXPECT_EQ(failure(desk),
            "session: there is no session 's2', or it has timed out; open one with PUT /api/v1/sessions/s2");
}

TEST(Clients, AreToldNothingOfWorkspacesThatTheyHaveLost) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  access::Principal outsider = ann;
  outsider.roles.clear();
  desk.ask(outsider, "attend", attend_to());
  EXPECT_TRUE(news(desk).jobs.empty());
}

TEST(Clients, AreBounded) {
  Settings settings;
  settings.sessions_max = 1;
  Desk desk(settings);
  desk.ask(ann, "attend", attend_to());
  requests::Attend another = attend_to();
  another.session = SessionId("s2");
  desk.ask(ann, "attend", another);
  EXPECT_EQ(failure(desk), "there are already 1 sessions; raise sessions_max");
  desk.pass(6s);
  desk.ask(ann, "attend", another);
  EXPECT_TRUE(news(desk).jobs.empty());
}

TEST(Clients, OfOneUserLeaveRoomForThoseOfOthers) {
  Settings settings;
  settings.sessions_of_user_max = 1;
  Desk desk(settings);
  desk.ask(ann, "attend", attend_to());
  requests::Attend another = attend_to();
  another.session = SessionId("s2");
  desk.ask(ann, "attend", another);
  EXPECT_EQ(failure(desk), "you already have 1 sessions; end some (cadre session list), or raise sessions_of_user_max");
  desk.ask(bob, "attend", another);
  EXPECT_TRUE(news(desk).jobs.empty());
}

TEST(Clients, AreForgottenWithTheirJobs) {
  Settings settings;
  settings.ended_jobs_kept = 1;
  Desk desk(settings);
  desk.ask(ann, "attend", attend_to());
  for (std::uint64_t id = 1; id <= 3; ++id) {
    desk.ask(ann, "submit", requests::Submit{actor_of()});
    desk.ask(ann, "kill", requests::KillJob{{id}});
  }
  EXPECT_EQ(desk.control().ledger().jobs_of(session).size(), 1U);
}

TEST(Clients, AreListedToThemselvesAndToWhoMaySeeTheirJobs) {
  Desk desk;
  const access::Principal outsider{"eve", false, {{"vision", Role::admin}}, "t4", ""};
  const auto listed = [&](const access::Principal& who) {
    desk.ask(who, "list sessions", requests::ListSessions{});
    return std::get<requests::Sessions>(desk.answer()).sessions;
  };
  EXPECT_TRUE(listed(an_admin()).empty());
  desk.ask(ann, "attend", attend_to());
  EXPECT_EQ(listed(ann).size(), 1U);
  EXPECT_TRUE(listed(bob).empty());  // it has no jobs that would make it his affair
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.pass(2s);
  for (const access::Principal& who : {ann, bob, an_admin()}) {
    const auto sessions = listed(who);
    ASSERT_EQ(sessions.size(), 1U) << who.user;
    EXPECT_EQ(sessions[0].id, session);
    EXPECT_EQ(sessions[0].owner, "ann");
    EXPECT_EQ(sessions[0].host, "laptop");
    EXPECT_EQ(sessions[0].pid, 4711);
    EXPECT_EQ(sessions[0].program, "train.py");
    EXPECT_EQ(sessions[0].heard, desk.now() - 2s);
    EXPECT_EQ(sessions[0].actors, 1);
  }
  EXPECT_TRUE(listed(outsider).empty());
  desk.ask(an_admin(), "end the session", requests::EndSession{session});
  EXPECT_TRUE(listed(ann).empty());
}

TEST(Clients, AreListedPageByPage) {
  Desk desk;
  for (int i = 0; i < 5; ++i) {
    requests::Attend one = attend_to();
    one.session = SessionId("s" + std::to_string(i));
    desk.ask(ann, "attend", one);
  }
  std::vector<std::string> names;
  requests::ListSessions request{2, {}};
  for (int pages = 0; pages < 3; ++pages) {
    desk.ask(ann, "list sessions", request);
    const auto& page = std::get<requests::Sessions>(desk.answer());
    for (const requests::SessionView& one : page.sessions) names.push_back(one.id.value);
    EXPECT_EQ(page.next.has_value(), pages < 2);
    request.after = page.next.value_or(SessionId());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"s0", "s1", "s2", "s3", "s4"}));
}

TEST(Clients, HaveActorsThatAreListed) {
  Desk desk;
  const access::Principal outsider{"eve", false, {{"vision", Role::admin}}, "t4", ""};
  const auto listed = [&](const access::Principal& who, const requests::ListActors& request) {
    desk.ask(who, "list actors", request);
    return std::get<requests::Actors>(desk.answer()).actors;
  };
  desk.hello("a1", 1);
  desk.ask(ann, "attend", attend_to());
  desk.submit({1}, "no actor");
  desk.exited("a1", lease_of(1));
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.ask(ann, "submit", requests::Submit{actor_of()});
  desk.started("a1", lease_of(2));
  messages::Beat beat;
  messages::TaskUsage& usage = beat.tasks.emplace_back();
  usage.lease = lease_of(2);
  usage.usage.memory = ByteSize{1 << 20};
  usage.usage.calls = 12;
  usage.usage.errors = 1;
  desk.says("a1", beat);
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
  desk.ask("status", requests::GetStatus{});
  EXPECT_EQ(std::get<requests::Status>(desk.answer()).actors, 2);
  EXPECT_EQ(std::get<requests::Status>(desk.answer()).sessions, 1);

  desk.ask(ann, "kill 3", requests::KillJob{{3}});
  EXPECT_EQ(listed(ann, {}).size(), 1U);
  requests::ListActors all;
  all.ended = true;
  EXPECT_EQ(listed(ann, all).size(), 2U);
  all.session = SessionId("another");
  EXPECT_TRUE(listed(ann, all).empty());
  all.session = session;
  all.most = 1;
  EXPECT_EQ(listed(ann, all).size(), 1U);
  EXPECT_EQ(std::get<requests::Actors>(desk.answer()).next, JobId{3});
  desk.restart();
  desk.ask("status", requests::GetStatus{});
  EXPECT_EQ(std::get<requests::Status>(desk.answer()).actors, 1);
}

TEST(Clients, HaveActorsOfOneTaskOnly) {
  Desk desk;
  desk.ask(ann, "attend", attend_to());
  JobSpec spec = actor_of();
  spec.members.front().count = 2;
  desk.ask(ann, "submit", requests::Submit{spec});
  const auto& faults = std::get<requests::Failed>(desk.answer()).faults;
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().path, "actor");
  spec.members.front().count.reset();
  spec.members.front().slots = 2;  // might be divided over two agents
  desk.ask(ann, "submit", requests::Submit{spec});
  EXPECT_TRUE(std::holds_alternative<requests::Failed>(desk.answer()));
  spec.members.front().count = 1;
  desk.ask(ann, "submit", requests::Submit{spec});
  EXPECT_TRUE(std::holds_alternative<requests::JobView>(desk.answer()));
}

}  // namespace
}  // namespace cadre::cluster::control
