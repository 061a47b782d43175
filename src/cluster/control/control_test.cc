#include "cluster/control/control.h"

#include <gtest/gtest.h>

#include "base/seeds.h"
#include "cluster/control/control_fixture_for_tests.h"
#include "cluster/job_size.h"
#include "describe/random.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

TEST(Control, RespondsToWatchersOnceTheJobHasChanged) {
  ControlFixture fixture;
  fixture.submit({2}, "2 slots");
  const std::uint64_t seen = fixture.answered<requests::JobView>().version;
  fixture.ask("watch", requests::GetJob{{1}, seen});
  EXPECT_EQ(fixture.answers(), 1U);
  fixture.hello("a1");
  ASSERT_EQ(fixture.answers(), 2U);
  EXPECT_NE(fixture.answered<requests::JobView>().version, seen);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Control, ShowsNoVersionTwiceEvenIfMoreHappensInTheSameBatch) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({2}, "2 slots");  // shown as queued, then placed in the same batch
  const auto& view = fixture.answered<requests::JobView>();
  EXPECT_EQ(view.stage, JobStage::queued);
  fixture.ask("watch", requests::GetJob{{1}, view.version});
  ASSERT_EQ(fixture.answers(), 2U);
  EXPECT_EQ(fixture.answered<requests::JobView>().stage, JobStage::running);
}

TEST(Control, ShowsNoVersionTwiceOverARestart) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.submit({2}, "2 slots");
  const std::uint64_t seen = fixture.answered<requests::JobView>().version;
  fixture.exited("a1", lease_of(1));
  fixture.restart();
  fixture.ask("watch", requests::GetJob{{1}, seen});
  ASSERT_EQ(fixture.answers(), 2U);
  EXPECT_EQ(fixture.answered<requests::JobView>().stage, JobStage::ended);
}

TEST(Control, RespondsAtOnceToWatchersOfAnEndedJob) {
  ControlFixture fixture;
  fixture.submit({2}, "2 slots");
  fixture.ask("stop", requests::EndJob{{1}, {}});
  const std::uint64_t seen = fixture.answered<requests::JobView>().version;
  fixture.ask("watch", requests::GetJob{{1}, seen});
  EXPECT_EQ(fixture.answers(), 3U);
}

TEST(Control, BoundsWatchersAndForgetsThem) {
  Settings settings;
  settings.watchers_max = 1;
  ControlFixture fixture(settings);
  fixture.submit({2}, "2 slots");
  const std::uint64_t seen = fixture.answered<requests::JobView>().version;
  fixture.ask("watch", requests::GetJob{{1}, seen});
  fixture.ask("watch", requests::GetJob{{1}, seen});
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::unavailable);
  fixture.control().forget_asker(2);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Control, ShowsWhatWaitsToBeStartedAgain) {
  ControlFixture fixture;
  fixture.hello("a1");
  JobSpec spec = job_of({1, 2});
  spec.members.front().restart = restart::OnFailure{1, 3s};
  fixture.submit(spec, "two that fail alone");
  fixture.exited("a1", lease_of(1, 1), 7);
  const auto shown = [&] {
    fixture.ask("look", requests::GetTask{{{1}, 1}});
    return fixture.answered<requests::TaskView>();
  };
  EXPECT_EQ(shown().stage, lease::Stage::queued);
  EXPECT_EQ(shown().ending->code, 7) << "until it runs again";
  EXPECT_EQ(shown().restart_at, fixture.now() + 3s);
  fixture.pass(4s);
  EXPECT_EQ(shown().stage, lease::Stage::placed);
  EXPECT_EQ(shown().restarts, 1);
  EXPECT_FALSE(shown().ending);
  EXPECT_FALSE(shown().restart_at);
  fixture.exited("a1", lease_of(1, 1, 2), 7);
  EXPECT_EQ(shown().stage, lease::Stage::ended);
  EXPECT_EQ(shown().ending->detail,
            "after 1 restart, which is the limit; see its output for the cause, or raise max_restarts");
}

TEST(Control, SaysThatTooFewWereThere) {
  ControlFixture fixture;
  fixture.hello("a1");
  JobSpec spec = job_of({1, 3});
  spec.members.front().role = "worker";
  spec.members.front().restart = restart::Never{};
  spec.members.front().minimum = Minimum{2, 4s};
  fixture.submit(spec, "three, of which two are needed");
  fixture.exited("a1", lease_of(1, 0), 7);
  fixture.pass(10s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running) << "two are enough";
  fixture.exited("a1", lease_of(1, 1));
  fixture.pass(10s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running) << "what has ended well is not missing";
  fixture.exited("a1", lease_of(1, 2), 8);
  fixture.pass(3s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::ended) << "nothing is left that could go on";
  EXPECT_EQ(fixture.job(1).code, 7);

  spec.members.front().count = 4;
  fixture.submit(spec, "four, of which two are needed");
  for (std::uint32_t i = 0; i < 3; ++i) fixture.exited("a1", lease_of(2, i), 7);
  fixture.pass(3s);
  EXPECT_EQ(fixture.job(2).stage, JobStage::running);
  fixture.pass(2s);
  EXPECT_EQ(fixture.job(2).stage, JobStage::stopping);
  fixture.exited("a1", lease_of(2, 3), 15, lease::Reason::signalled);
  EXPECT_EQ(fixture.job(2).code, 7) << "of the first that failed";
  EXPECT_EQ(fixture.job(2).detail, "fewer than 2 tasks of role worker were available for 4 s");
}

TEST(Control, PlacesNothingOnAnAgentThatSaysItTakesNoWork) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.says("a1", messages::Beat{{}, {}, "the disk is full: 0 MiB free in /data; free space there"});
  fixture.submit({1}, "one");
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  fixture.ask("why", requests::Why{JobId{1}});
  EXPECT_NE(fixture.text().find("a1 is out of service: the disk is full"), std::string::npos);
  fixture.says("a1", messages::Beat{});
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);

  // What could not be started for that waits for room, and no restart is counted.
  fixture.says("a1", messages::Beat{{}, {}, "the disk is full"});
  fixture.exited("a1", lease_of(1), 0, lease::Reason::agent_lost);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  EXPECT_EQ(fixture.task(1, 0).restarts, 0);
  fixture.hello("a2");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  EXPECT_EQ(fixture.task(1, 0).agent.value, "a2");

  // A hello says it, too.
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent = {AgentId("a3"), 9, plan::SlotKind::artificial, {}, {}, {}, true, false};
  hello.slots.resize(9);
  hello.identity = "a3";
  hello.obstacle = "the disk is full";
  fixture.say_hello("a3", hello);
  fixture.submit({9}, "nine");
  EXPECT_EQ(fixture.job(2).stage, JobStage::queued);
}

// A job ends with the first failure of a task that takes the others with it. What of it was lost with an agent by then
// did not run to an end, but there is nothing left for which it could run again.
TEST(Control, EndsAGangWithTheFailureOfOneThoughAnotherNeverBegan) {
  for (const bool lost_first : {false, true}) {
    ControlFixture fixture;
    fixture.hello("a1");
    fixture.hello("a2");
    fixture.submit(job_of({4, 2}), "two, on an agent each");
    const std::uint32_t on_a1 = fixture.task(1, 0).agent.value == "a1" ? 0 : 1;
    fixture.started("a1", lease_of(1, on_a1));
    fixture.falls_silent("a2");  // before the other one began
    if (lost_first) fixture.pass(40s);
    if (lost_first) {
      EXPECT_EQ(fixture.job(1).stage, JobStage::stopping) << "the rest is stopped, to run again together";
    }
    fixture.exited("a1", lease_of(1, on_a1), 7);
    fixture.pass(80s);
    if (lost_first) {
      EXPECT_EQ(fixture.job(1).stage, JobStage::queued) << "how it ended when it was told to stop is no failure";
      fixture.hello("a2", 4, std::set<LeaseId>{});
      EXPECT_EQ(fixture.job(1).stage, JobStage::running);
      EXPECT_EQ(fixture.job(1).runs, 2);
      continue;
    }
    EXPECT_EQ(fixture.job(1).stage, JobStage::ended);
    EXPECT_EQ(fixture.job(1).reason, lease::Reason::exited);
    EXPECT_EQ(fixture.job(1).code, 7);
    EXPECT_EQ(fixture.job(1).runs, 1);
    EXPECT_EQ(fixture.task(1, 1 - on_a1).ending.reason, lease::Reason::signalled) << "it was stopped with its gang";
  }
}

TEST(Control, SumsUpTheCluster) {
  ControlFixture fixture;
  fixture.hello("a1");
  fixture.hello("a2", 2);
  JobSpec spec = job_of({2});
  spec.members.front().cpus = {1'500};
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent = {AgentId("a3"), 1, plan::SlotKind::cpu, {8'000}, {1'000}, {}, true, false};
  hello.slots.resize(1);
  hello.identity = "a3";
  fixture.say_hello("a3", hello);
  spec.members.front().slots = 1;
  spec.members.front().slot_kind = plan::SlotKind::cpu;
  fixture.submit(spec, "a core");
  fixture.submit({4}, "4 slots");
  fixture.submit({4}, "4 slots");
  fixture.ask("status", requests::GetStatus{});
  const auto& status = fixture.answered<requests::Status>();
  EXPECT_EQ(status.agents, 3);
  EXPECT_EQ(status.agents_up, 3);
  EXPECT_EQ(status.slots, 7);
  EXPECT_EQ(status.slots_used, 5);
  EXPECT_EQ(status.cpus_used.milli, 2'500);
  EXPECT_EQ(status.queued, 1);
  EXPECT_EQ(status.running, 2);
  EXPECT_EQ(status.ended, 0);
}

TEST(Control, KeepsJobsAndAgentsOfAPoolThatIsNotConfiguredAnyMore) {
  Settings settings;
  settings.pools["old"] = {};
  ControlFixture fixture(settings);
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("a1");
  hello.agent.slots = 4;
  hello.slots.resize(4);
  hello.pool = "old";
  hello.identity = "a1";
  fixture.say_hello("a1", hello);
  JobSpec spec = job_of({4});
  spec.pool = "old";
  fixture.submit(spec, "a job that runs");
  fixture.submit(spec, "a job that waits");
  fixture.settings().pools.erase("old");
  fixture.restart();
  fixture.pass(40s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::queued);
  EXPECT_EQ(fixture.job(2).stage, JobStage::queued);
  fixture.submit(spec, "another");
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::not_found);
  fixture.ask("why", requests::Why{{1}});
  EXPECT_NE(fixture.answered<requests::Text>().text.find("pool 'old'"), std::string::npos);
  fixture.ask("set", requests::SetJob{{1}, 3, {}, {}, {}});
  fixture.ask("stop", requests::EndJob{{2}, {}});
  EXPECT_EQ(fixture.job(2).stage, JobStage::ended);
  fixture.settings().pools["old"] = {};
  fixture.restart();
  fixture.hello("a1");  // into the default pool now, where it has nothing
  fixture.say_hello("a1", hello);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
}

TEST(Control, MovesAJobThatWaitsIntoAnotherPool) {
  Settings settings;
  settings.pools["other"] = {};
  ControlFixture fixture(settings);
  const auto failed = [&] { return fixture.answered<requests::Failed>().message; };
  fixture.hello("a1", 4);
  fixture.submit({4}, "one that runs");
  fixture.submit({4}, "one that waits");
  fixture.submit({3}, "another that waits");
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("b1");
  hello.agent.slots = 3;
  hello.slots.resize(3);
  hello.pool = "other";
  hello.identity = "b1";
  fixture.say_hello("b1", hello);
  fixture.ask("set", requests::SetJob{{1}, {}, {}, {}, "other"});
  EXPECT_EQ(failed(), "job 1 has tasks on agents of its pool; the pool can be changed only while the job is queued");
  fixture.ask("set", requests::SetJob{{2}, {}, {}, {}, "other"});
  EXPECT_TRUE(failed().starts_with("it can never run: ")) << failed();
  fixture.ask("set", requests::SetJob{{2}, {}, {}, {}, "nowhere"});
  EXPECT_EQ(failed(), "pool: there is no pool 'nowhere'; the pools are 'default', 'other'");
  EXPECT_EQ(fixture.job(2).spec.pool, "default");
  fixture.ask("set", requests::SetJob{{3}, 7, {}, {}, "other"});
  EXPECT_EQ(fixture.job(3).stage, JobStage::running);
  EXPECT_EQ(fixture.job(3).spec.pool, "other");
  EXPECT_EQ(fixture.job(3).spec.priority, 7);
  fixture.restart();
  EXPECT_EQ(fixture.job(3).spec.pool, "other");
  EXPECT_EQ(fixture.job(2).stage, JobStage::queued);
}

TEST(Control, KeepsAQuotaOverPoolsAlsoForAJobThatMoves) {
  Settings settings;
  settings.pools["other"] = {};
  ControlFixture fixture(settings);
  fixture.hello("a1", 4);
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("b1");
  hello.agent.slots = 4;
  hello.slots.resize(4);
  hello.pool = "other";
  hello.identity = "b1";
  fixture.say_hello("b1", hello);
  const AccountId admins = account_of_user("admin");
  fixture.quota(admins, 5);
  fixture.submit({3}, "one that runs");
  fixture.submit({3}, "one that waits");
  EXPECT_EQ(fixture.control().held_by(admins), 3);
  fixture.ask("set", requests::SetJob{{2}, {}, {}, {}, "other"});
  EXPECT_EQ(fixture.job(2).stage, JobStage::queued);
  fixture.ask("why", requests::Why{{2}});
  EXPECT_EQ(fixture.answered<requests::Text>().text,
            "waits for 3 slots: user admin holds 3 of at most 5 slots, 3 of them in other pools");
  fixture.quota(admins, 6);
  EXPECT_EQ(fixture.job(2).stage, JobStage::running);
  EXPECT_EQ(fixture.control().held_by(admins), 6);
}

TEST(Control, BoundsWhatReportsAndEndingsTake) {
  Settings settings;
  settings.ended_bytes_kept = ByteSize{64 << 10};
  ControlFixture fixture(settings);
  fixture.hello("a1");
  for (std::uint64_t job = 1; job <= 4; ++job) {
    fixture.submit({1}, "1 slot");
    fixture.started("a1", lease_of(job));
    fixture.says("a1", messages::Report{lease_of(job), 1, std::string(32'768, 'x')});
    fixture.says("a1", messages::Report{lease_of(job), 2, std::string(32'769, 'x')});
    EXPECT_EQ(fixture.task(job).reports, 1U);
    const std::string detail(4'000, 'a');
    fixture.says("a1", messages::Exited{lease_of(job), {lease::Reason::exited, 1, detail + detail + detail, {}, 0}});
  }
  EXPECT_EQ(fixture.control().ledger().ended_in_memory(), 1) << "two take more than is kept of ended ones";
  EXPECT_EQ(fixture.task(4).ending.detail.size(), 8'192U);
  fixture.restart();
  EXPECT_EQ(fixture.control().ledger().ended_in_memory(), 1);
}

TEST(Control, BoundsWhatTheSpecificationsOfJobsTake) {
  Settings settings;
  settings.job_bytes_of_user_max = ByteSize{3 << 20};
  settings.ended_bytes_kept = ByteSize{2 << 20};
  ControlFixture fixture(settings);
  JobSpec spec = job_of({1});
  spec.members.front().command.variables["LARGE"] = std::string(900'000, 'x');
  for (int i = 0; i < 3; ++i) fixture.submit(spec, "a large one");
  EXPECT_TRUE(fixture.answer().as<requests::JobView>() != nullptr);
  fixture.submit(spec, "one too many");
  const auto refused = fixture.answered<requests::Failed>();
  EXPECT_EQ(refused.code, Errc::denied);
  EXPECT_NE(refused.message.find("the limit is 3MiB"), std::string::npos) << refused.message;
  fixture.restart();
  fixture.submit(spec, "one too many, after a restart");
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::denied);
  for (std::uint64_t id = 1; id <= 3; ++id) fixture.ask("kill", requests::KillJob{{id}});
  EXPECT_EQ(fixture.control().ledger().live().bytes, 0);
  EXPECT_EQ(fixture.control().ledger().ended_in_memory(), 2) << "more would take more than is kept of ended ones";
  const std::int64_t each = bytes_of(spec);
  EXPECT_EQ(fixture.control().ledger().ended_bytes(), 3 * each) << "in the database";
  fixture.control().note_pruned({3}, each);
  EXPECT_EQ(fixture.control().ledger().ended_in_memory(), 1) << "what is pruned is not kept in memory either";
  EXPECT_EQ(fixture.control().ledger().ended_bytes(), 2 * each);
  fixture.submit(spec, "there is room again");
  EXPECT_TRUE(fixture.answer().as<requests::JobView>() != nullptr);
}

TEST(Control, RefusesAgentsAndJobsWithUnprintableNames) {
  ControlFixture fixture;
  for (const std::string& id :
       {std::string("a\nb"), std::string(".."), std::string("-x"), std::string(5'000, 'x'), std::string("\x1b[2J")}) {
    fixture.hello(id);
    EXPECT_TRUE(fixture.control().ledger().agents().empty()) << id.size();
  }
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("good");
  hello.identity = "good";
  hello.agent.labels["zone"] = "\x1b]0;x\x07";
  fixture.say_hello("good", hello);
  EXPECT_TRUE(fixture.control().ledger().agents().empty());
  JobSpec spec = job_of({1});
  spec.name = "\x1b[2J";
  fixture.submit(spec, "a name with control characters");
  const auto refused = fixture.answered<requests::Failed>();
  EXPECT_EQ(refused.code, Errc::invalid);
  ASSERT_EQ(refused.faults.size(), 1U);
  EXPECT_EQ(refused.faults.front().path, "name");
}

TEST(Control, RefusesAJobThatCouldNeverRunUnderItsQuota) {
  ControlFixture fixture;
  fixture.hello("a1", 8);
  fixture.quota(account_of_user("admin"), 4);
  fixture.submit({8}, "8 slots");
  EXPECT_EQ(
      fixture.answered<requests::Failed>().message,
      "it can never run: it needs 8 slots to start, but user admin may hold 4 at most; request fewer slots, or ask "
      "an admin to raise the quota");
  fixture.submit({4, 2, 1}, "4 slots to start, up to 8");
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.submit({4}, "as many as are allowed");
  EXPECT_EQ(fixture.job(2).stage, JobStage::queued) << "it waits for the first";
  fixture.quota(account_of_user("admin"), std::nullopt);
  fixture.quota(account_of_workspace("default"), 7);
  fixture.submit({8}, "8 slots");
  EXPECT_EQ(fixture.answered<requests::Failed>().code, Errc::invalid);
  fixture.quota(account_of_workspace("default"), 8);
  fixture.submit({8}, "8 slots");
  EXPECT_EQ(fixture.job(3).stage, JobStage::queued);
}

TEST(Control, StopsAJobThatRunsLongerThanItMay) {
  ControlFixture fixture;
  fixture.hello("a1", 1);
  JobSpec spec = job_of({1});
  spec.max_time = 1h;
  fixture.submit(spec, "an hour at most");
  fixture.submit(spec, "the same, which waits first");
  fixture.started("a1", lease_of(1));
  fixture.pass(59min);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.restart();
  fixture.pass(61s);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
  EXPECT_NE(fixture.text().find("to a1     stop 1.0/1"), std::string::npos) << fixture.text();
  fixture.restart();
  fixture.exited("a1", lease_of(1), 0);
  EXPECT_EQ(fixture.job(1).stage, JobStage::ended);
  EXPECT_EQ(fixture.job(1).detail, "it ran longer than its max_time of 1 h");
  fixture.ask("why", requests::Why{{1}});
  EXPECT_NE(fixture.answered<requests::Text>().text.find("it was stopped: it ran longer than its max_time of 1 h"),
            std::string::npos);
  EXPECT_EQ(fixture.job(2).stage, JobStage::running);
  fixture.exited("a1", lease_of(2), 0);
  EXPECT_EQ(fixture.job(2).reason, lease::Reason::exited);
  EXPECT_EQ(fixture.control().remembered(), 0U);
}

TEST(Control, CountsTheTimeOfAJobAnewWhenItRunsAgain) {
  ControlFixture fixture;
  fixture.hello("a1", 1);
  JobSpec spec = job_of({1});
  spec.max_time = 10min;
  fixture.submit(spec, "ten minutes at most");
  fixture.started("a1", lease_of(1));
  fixture.pass(9min);
  fixture.hello("a1", 1, std::set<LeaseId>{});
  fixture.pass(9min);
  EXPECT_EQ(fixture.job(1).stage, JobStage::running);
  fixture.pass(2min);
  EXPECT_EQ(fixture.job(1).stage, JobStage::stopping);
}

TEST(Control, ForgetsLostAgentsAndEndedJobs) {
  Settings settings;
  settings.forget_agents_after = 1h;
  settings.ended_jobs_kept = 1;
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.submit({2}, "2 slots");
  fixture.falls_silent("a1");
  fixture.pass(31s);
  EXPECT_EQ(fixture.control().ledger().agents().size(), 1U);
  fixture.pass(1h);
  EXPECT_TRUE(fixture.control().ledger().agents().empty());
  EXPECT_TRUE(fixture.database().agents.empty());
  fixture.ask("stop", requests::EndJob{{1}, {}});
  fixture.submit({2}, "2 slots");
  fixture.ask("stop", requests::EndJob{{2}, {}});
  EXPECT_EQ(fixture.control().ledger().jobs().size(), 1U);
  fixture.hello("a1", 4, std::set{lease_of(1)});
  EXPECT_NE(fixture.text().find("welcome, keep nothing"), std::string::npos);
}

TEST(Control, KeepsAnAgentInItsPoolWhileItHasTasks) {
  Settings settings;
  settings.pools["other"] = {};
  ControlFixture fixture(settings);
  fixture.hello("a1");
  fixture.submit({2}, "2 slots");
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("a1");
  hello.agent.slots = 4;
  hello.slots.resize(4);
  hello.identity = "a1";
  hello.pool = "other";
  fixture.say_hello("a1", hello);
  EXPECT_NE(fixture.text().find("drain it before you change"), std::string::npos);
  hello.pool = "default";
  hello.agent.slot_kind = plan::SlotKind::cuda;
  fixture.say_hello("a1", hello);
  fixture.exited("a1", lease_of(1));
  fixture.hello("a1");
  fixture.exited("a1", lease_of(1));
  hello.pool = "other";
  hello.leases.clear();
  fixture.say_hello("a1", hello);
  EXPECT_EQ(fixture.database().agents.at(AgentId("a1")).pool, "other");
}

/// Numbers that occur now and then, so that what strangers say sometimes meets what is there.
LeaseId near_lease(Dice& dice) {
  const bool far = dice.percent(10);
  return {{{far ? dice.bits() : dice.below(12)}, static_cast<std::uint32_t>(far ? dice.bits() : dice.below(4))},
          {far ? dice.bits() : dice.below(4)}};
}

messages::FromAgent stranger_says(Dice& dice, std::uint64_t session) {
  auto message = describe::random_value<messages::FromAgent>(dice);
  if (dice.percent(80)) message.session = session;
  std::visit(overloaded{
                 [&](messages::Hello& one) {
                   if (dice.percent(90)) one.protocols = protocol::own();
                   if (dice.percent(90)) one.pool = "default";
                   if (dice.percent(80)) one.agent.id = AgentId("a" + std::to_string(dice.below(4)));
                   if (dice.percent(60)) one.identity = "same";
                   if (dice.percent(80)) one.agent.slots = static_cast<std::int32_t>(dice.below(6));
                   if (dice.percent(80)) one.slots.resize(static_cast<std::size_t>(std::min(one.agent.slots, 1'000)));
                   for (std::size_t i = dice.below(8); i > 0; --i) one.leases.push_back(near_lease(dice));
                   if (!one.leases.empty() && dice.percent(30)) one.leases.push_back(one.leases.front());
                 },
                 [&](messages::Beat& one) {
                   for (messages::TaskUsage& usage : one.tasks) usage.lease = near_lease(dice);
                 },
                 [&](messages::ExecNews& one) { one.number = (std::uint64_t{1} << 32) + dice.below(4); },
                 [](messages::Goodbye&) {},
                 [&](auto& one) { one.lease = near_lease(dice); },
             },
             message.body);
  return message;
}

requests::Request stranger_asks(Dice& dice) {
  auto request = describe::random_value<requests::Request>(dice);
  std::visit(overloaded{
                 [&](requests::Submit& one) {
                   if (dice.percent(90)) one.job.pool = "default";
                   if (dice.percent(70)) one.job.selector.clear();
                   for (MemberSpec& member : one.job.members) {
                     if (dice.percent(80)) member.slots = static_cast<std::int32_t>(dice.below(4));
                     if (dice.percent(80)) member.cpus = {};
                     if (dice.percent(80)) member.memory = {};
                     if (dice.percent(80)) member.slot_kind.reset();
                     if (member.count && dice.percent(90)) member.count = static_cast<std::int32_t>(dice.between(1, 4));
                     if (member.elastic_min)
                       member.elastic_min = static_cast<std::int32_t>(dice.between(0, *member.count));
                   }
                   if (dice.percent(70)) one.job.members.resize(1);
                 },
                 [&](requests::MoveJob& one) {
                   one.job = near_lease(dice).task.job;
                   one.other = near_lease(dice).task.job;
                 },
                 [&](requests::SetAgent& one) { one.agent = AgentId("a" + std::to_string(dice.below(5))); },
                 [&](requests::SetSlot& one) {
                   one.agent = AgentId("a" + std::to_string(dice.below(5)));
                   if (dice.percent(80)) one.slot = static_cast<std::int32_t>(dice.below(6));
                 },
                 [&](requests::EndTask& one) { one.task = near_lease(dice).task; },
                 [&](requests::KillTask& one) { one.task = near_lease(dice).task; },
                 [&](requests::GetTask& one) { one.task = near_lease(dice).task; },
                 [&](requests::RunExec& one) { one.task = near_lease(dice).task; },
                 [&](auto& one) {
                   if constexpr (requires { one.job.value; }) one.job = near_lease(dice).task.job;
                 },
             },
             request);
  return request;
}

access::Principal a_guest(Dice& dice) {
  if (dice.percent(50)) return an_admin();
  access::Principal caller{"ann", false, {}, "t2", ""};
  if (dice.percent(80)) caller.roles["default"] = dice.percent(50) ? access::Role::editor : access::Role::viewer;
  return caller;
}

TEST(Control, SurvivesRandomRequests) {
  FOR_SEEDS(150, [](Dice& dice) {
    Settings settings;
    settings.agents_max = 8;
    settings.ended_jobs_kept = static_cast<std::int64_t>(dice.below(5));
    settings.forget_agents_after = std::chrono::minutes(2);
    if (dice.percent(30)) settings.pools["default"].policy = plan::FairSharePolicy{};
    TimePoint now{std::chrono::hours(1)};
    ModelDatabase database;
    std::uint64_t boot = 1;
    auto control = std::make_unique<Control>(settings, database.rows(), boot, now);
    std::map<Peer, std::uint64_t> sessions;
    for (int i = 0; i < 200; ++i) {
      now += std::chrono::milliseconds(dice.magnitude(1, 100'000));
      const Peer peer = dice.below(5);
      if (dice.percent(60)) control->hear(peer, stranger_says(dice, sessions[peer]), std::nullopt, now);
      if (dice.percent(60)) control->ask(peer, a_guest(dice), stranger_asks(dice), now);
      if (dice.percent(20)) control->tick(now);
      if (dice.percent(3)) control->forget_asker(peer);
      if (dice.percent(3)) control->forget_peer(peer);
      const Outcome outcome = control->settle(now);
      database.apply(outcome.writes);
      for (const ToAgent& one : outcome.to_agents) sessions[one.peer] = one.message.session;
      if (dice.percent(2)) control = std::make_unique<Control>(settings, database.rows(), ++boot, now);
    }
  });
}

}  // namespace
}  // namespace cadre::cluster::control
