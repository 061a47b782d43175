#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using lease::Reason;

struct Scene {
  std::string title;
  std::function<void(ControlFixture&)> play;
  Settings settings = {};
};

JobSpec two_roles() {
  JobSpec spec = job_of({1, 2});
  spec.members.front().role = "worker";
  MemberSpec& chief = spec.members.emplace_back(spec.members.front());
  chief.role = "chief";
  chief.count = 1;
  chief.slots = 2;
  return spec;
}

void run_one(ControlFixture& fixture, const Wish& wish, const std::string& words) {
  fixture.hello("a1");
  fixture.submit(wish, words);
  fixture.started("a1", lease_of(1));
}

requests::Request end(std::uint64_t job, std::optional<Duration> grace = {}) { return requests::EndJob{{job}, grace}; }

std::vector<Scene> jobs() {
  return {
      {"A job runs and ends",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.exited("a1", lease_of(1));
       }},
      {"A job fails",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.exited("a1", lease_of(1), 3);
       }},
      {"A job waits for an agent",
       [](ControlFixture& fixture) {
         fixture.submit({2}, "2 slots");
         fixture.hello("a1");
       }},
      {"A job waits for another to end",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.submit({1}, "1 slot");
         fixture.exited("a1", lease_of(1));
       }},
      {"A gang of three on two agents",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.hello("a2");
         fixture.submit({2, 3}, "3 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 3; ++i) fixture.started(fixture.task(1, i).agent.value, lease_of(1, i));
         for (std::uint32_t i = 0; i < 3; ++i) fixture.exited(fixture.task(1, i).agent.value, lease_of(1, i));
       }},
      {"One of a gang fails, and the others are stopped",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({1, 3}, "3 tasks of 1 slot");
         for (std::uint32_t i = 0; i < 3; ++i) fixture.started("a1", lease_of(1, i));
         fixture.exited("a1", lease_of(1, 1), 7);
         fixture.exited("a1", lease_of(1, 0), 15, Reason::signalled);
         fixture.exited("a1", lease_of(1, 2));
       }},
      {"A gang of two roles",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit(two_roles(), "2 workers of 1 slot, 1 chief of 2");
       }},
      {"A gang grows when there is room",
       [](ControlFixture& fixture) {
         fixture.hello("a1", 2);
         fixture.submit({1, 3, 1}, "1 to 3 tasks of 1 slot");
         fixture.hello("a2", 2);
       }},
      {"Slots divided over agents",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.hello("a2");
         fixture.submit({8}, "8 slots");
       }},
      {"A job that could never run is refused",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({5}, "5 slots");
         fixture.submit({4}, "4 slots");
       }},
      {"A job goes ahead of another",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.submit({3}, "3 slots");
         fixture.submit({2}, "2 slots");
         fixture.ask("move 3 ahead of 2", requests::MoveJob{{3}, {2}, false});
         fixture.exited("a1", lease_of(1));
       }},
      {"A job becomes more important",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.submit({3}, "3 slots");
         fixture.submit({2}, "2 slots");
         fixture.ask("set the priority of 3 to 1", requests::SetJob{{3}, 1, {}, {}, {}});
         fixture.exited("a1", lease_of(1));
       }},
      {"Reports count only from the lease that is held",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.says("a1", messages::Report{lease_of(1), 1, "loss 3"});
         fixture.says("a1", messages::Report{lease_of(1, 0, 2), 2, "loss 2"});
         fixture.says("a1", messages::Report{lease_of(9), 1, "loss 1"});
         fixture.exited("a1", lease_of(1));
         fixture.says("a1", messages::Report{lease_of(1), 3, "loss 0"});
       }},
      {"An end is confirmed whatever it is the end of",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.exited("a1", lease_of(1, 0, 7), 1);
         fixture.exited("a1", lease_of(9), 1);
         fixture.exited("a1", lease_of(1));
         fixture.exited("a1", lease_of(1), 1);
       }},
  };
}

std::vector<Scene> stops() {
  const Wish loose{4, {}, {}, 50, true};
  return {
      {"A job is stopped while it waits",
       [](ControlFixture& fixture) {
         fixture.submit({2}, "2 slots");
         fixture.ask("stop 1", end(1));
       }},
      {"A job is stopped before it has started",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({2}, "2 slots");
         fixture.ask("stop 1", end(1));
         fixture.exited("a1", lease_of(1), 0, Reason::signalled);
       }},
      {"A job is stopped while it runs, then with less grace, then killed",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.ask("stop 1", end(1));
         fixture.ask("stop 1 within 5s", end(1, 5s));
         fixture.ask("stop 1 within 10s", end(1, 10s));
         fixture.ask("kill 1", end(1, 0s));
         fixture.exited("a1", lease_of(1), 9, Reason::signalled);
         fixture.ask("stop 1", end(1));
       }},
      {"A job is preempted, and comes back",
       [loose](ControlFixture& fixture) {
         run_one(fixture, loose, "4 slots, priority 50, preemptible");
         fixture.submit({4}, "4 slots");
         fixture.exited("a1", lease_of(1), 15, Reason::signalled);
         fixture.started("a1", lease_of(2));
         fixture.exited("a1", lease_of(2));
         fixture.started("a1", lease_of(1, 0, 2));
         fixture.exited("a1", lease_of(1, 0, 2));
       }},
      {"A user's stop outdoes a preemption",
       [loose](ControlFixture& fixture) {
         run_one(fixture, loose, "4 slots, priority 50, preemptible");
         fixture.submit({4}, "4 slots");
         fixture.ask("stop 1", end(1));
         fixture.exited("a1", lease_of(1), 15, Reason::signalled);
       }},
      {"A job is stopped while its agent is lost",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.falls_silent("a1");
         fixture.pass(31s);
         fixture.ask("stop 1", end(1));
         fixture.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"A gang that stops because an agent was lost is stopped by its user",
       [](ControlFixture& fixture) {
         fixture.hello("a1", 2);
         fixture.hello("a2", 2);
         fixture.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) fixture.started(fixture.task(1, i).agent.value, lease_of(1, i));
         fixture.falls_silent("a1");
         fixture.pass(31s);
         fixture.ask("stop 1", end(1));
         fixture.exited("a2", lease_of(1, fixture.task(1, 0).agent.value == "a2" ? 0 : 1), 15, Reason::signalled);
       }},
      {"A stop that the agent did not hear is told again",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.falls_silent("a1");
         fixture.ask("kill 1", end(1, 0s));
         fixture.hello("a1");
       }},
  };
}

std::vector<Scene> agents() {
  const auto changed = [](auto change) {
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = AgentId("a1");
    hello.agent.slots = 4;
    hello.slots.resize(4);
    hello.identity = "a1";
    change(hello);
    return hello;
  };
  return {
      {"Agents that are refused",
       [changed](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.say_hello("b", changed([](auto& hello) { hello.protocols = {9, std::nullopt, "9.0.0"}; }));
         fixture.say_hello("b", changed([](auto& hello) { hello.pool = "gpus"; }));
         fixture.say_hello("b", changed([](auto& hello) { hello.agent.slots = 9; }));
         fixture.say_hello("b", changed([](auto& hello) { hello.identity = "another"; }));
         fixture.proven() = AgentId("a7");
         fixture.say_hello("b", changed([](auto&) {}));
       }},
      {"An agent is lost, and its job runs elsewhere",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.falls_silent("a1");
         fixture.hello("a2");
         fixture.pass(31s);
         fixture.started("a2", lease_of(1, 0, 2));
       }},
      {"It comes back too late: what it still runs is killed before it gets more",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.falls_silent("a1");
         fixture.hello("a2");
         fixture.pass(31s);
         fixture.submit({4}, "4 slots");
         fixture.hello("a1", 4, std::set{lease_of(1)});
         fixture.hello("a1", 4, std::set<LeaseId>());
       }},
      {"It comes back in time, as if nothing had happened",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.falls_silent("a1");
         fixture.pass(31s);
         fixture.hello("a1", 4, std::set{lease_of(1)});
         fixture.exited("a1", lease_of(1));
       }},
      {"It comes back in time with a whole gang",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) fixture.started("a1", lease_of(1, i));
         fixture.falls_silent("a1");
         fixture.pass(31s);
         fixture.hello("a1", 4, std::set{lease_of(1, 0), lease_of(1, 1)});
       }},
      {"It comes back with half a gang, which begins anew",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) fixture.started("a1", lease_of(1, i));
         fixture.falls_silent("a1");
         fixture.pass(31s);
         fixture.hello("a1", 4, std::set{lease_of(1, 0)});
         fixture.hello("a1", 4, std::set<LeaseId>());
       }},
      {"It was restarted and lost a task",
       [](ControlFixture& fixture) {
         run_one(fixture, {4}, "4 slots");
         fixture.hello("a1", 4, std::set<LeaseId>());
       }},
      {"A member that its agent lost makes its gang wait again",
       [](ControlFixture& fixture) {
         fixture.hello("a1", 2);
         fixture.hello("a2", 2);
         fixture.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) fixture.started(fixture.task(1, i).agent.value, lease_of(1, i));
         fixture.hello("a1", 2, std::set<LeaseId>());
         fixture.exited("a2", lease_of(1, fixture.task(1, 0).agent.value == "a2" ? 0 : 1), 15, Reason::signalled);
       }},
      {"It comes back with fewer slots than its task uses, and then with all",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({2}, "2 slots");
         fixture.submit({2}, "2 slots");
         fixture.exited("a1", lease_of(1));
         fixture.hello("a1", 2);
         fixture.submit({1}, "1 slot");
         fixture.hello("a1", 4);
         fixture.submit({1}, "1 slot");
         fixture.submit({1}, "1 slot");
       }},
  };
}

std::vector<Scene> quotas() {
  const access::Principal ann{"ann", false, {{"default", access::Role::editor}}, "t2", ""};
  const auto submit = [ann](ControlFixture& fixture, std::int32_t slots, const std::string& pool = "default") {
    JobSpec spec = job_of({slots});
    spec.pool = pool;
    const std::string where = pool == "default" ? "" : " in pool " + pool;
    fixture.ask(ann, "submit " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") + where,
                requests::Submit{spec});
  };
  const auto why = [ann](ControlFixture& fixture, std::uint64_t job) {
    fixture.ask(ann, "why does " + std::to_string(job) + " wait", requests::Why{{job}});
  };
  const AccountId of_ann = account_of_user("ann");
  Settings two_pools;
  two_pools.pools["other"] = {};
  return {
      {"A user with a quota",
       [=](ControlFixture& fixture) {
         fixture.hello("a1", 8);
         fixture.quota(of_ann, 4);
         submit(fixture, 3);
         submit(fixture, 2);
         submit(fixture, 5);
         submit(fixture, 4);
         why(fixture, 2);
         why(fixture, 3);
         fixture.submit({1}, "1 slot");
         fixture.quota(of_ann, 5);
         why(fixture, 3);
         fixture.exited("a1", lease_of(1));
         fixture.exited("a1", lease_of(2));
       }},
      {"A quota is lowered, and nobody is stopped for it",
       [=](ControlFixture& fixture) {
         fixture.hello("a1", 8);
         submit(fixture, 4);
         fixture.quota(of_ann, 2);
         submit(fixture, 1);
         why(fixture, 2);
         fixture.quota(of_ann, std::nullopt);
       }},
      {"The quota of a workspace binds all who are in it",
       [=](ControlFixture& fixture) {
         fixture.hello("a1", 8);
         fixture.quota(account_of_workspace("default"), 4);
         submit(fixture, 2);
         fixture.submit({3}, "3 slots");
         why(fixture, 2);
         submit(fixture, 2);
       }},
      {"A user with a quota in two pools",
       [=](ControlFixture& fixture) {
         fixture.hello("a1", 4);
         messages::Hello hello;
         hello.protocols = protocol::own();
         hello.agent.id = AgentId("b1");
         hello.agent.slots = 4;
         hello.slots.resize(4);
         hello.identity = "b1";
         hello.pool = "other";
         fixture.say_hello("b1", hello);
         fixture.quota(of_ann, 4);
         submit(fixture, 3, "other");
         submit(fixture, 2);
         submit(fixture, 1);
         why(fixture, 2);
         fixture.exited("b1", lease_of(1));
         submit(fixture, 2, "other");
         why(fixture, 4);
         fixture.quota(of_ann, 6);
       },
       two_pools},
  };
}

/// Three users and what each may know and do.
std::vector<Scene> rights() {
  using access::Role;
  const access::Principal ann{"ann", false, {{"default", Role::editor}}, "t2", ""};
  const access::Principal bob{"bob", false, {{"default", Role::viewer}, {"secret", Role::editor}}, "t3", ""};
  const access::Principal eve{"eve", false, {{"default", Role::editor}}, "t4", ""};
  const auto submit = [](ControlFixture& fixture, const access::Principal& who, std::int32_t slots,
                         const std::string& workspace, std::int32_t priority = 50) {
    JobSpec spec = job_of({slots});
    spec.workspace = workspace;
    spec.priority = priority;
    spec.preemptible = priority == 50;
    fixture.ask(who, "submit " + std::to_string(slots) + " slots at " + std::to_string(priority) + " in " + workspace,
                requests::Submit{spec});
  };
  const auto why = [](ControlFixture& fixture, const access::Principal& who, std::uint64_t job) {
    fixture.ask(who, "why " + std::to_string(job), requests::Why{{job}});
  };
  return {
      {"An editor changes their own jobs, a viewer changes nothing, and a user without a role sees nothing",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         submit(fixture, ann, 1, "default");
         submit(fixture, bob, 1, "default");
         submit(fixture, ann, 1, "secret");
         submit(fixture, bob, 1, "secret");
         fixture.ask(bob, "end 1", requests::EndJob{{1}, std::nullopt});
         fixture.ask(eve, "end 1", requests::EndJob{{1}, std::nullopt});
         fixture.ask(eve, "end 2", requests::EndJob{{2}, std::nullopt});
         fixture.ask(eve, "exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         fixture.ask(eve, "disable a1", requests::SetAgent{AgentId("a1"), SlotState::disabled});
         fixture.ask(ann, "end 1", requests::EndJob{{1}, std::nullopt});
       }},
      {"Why something waits, told to who may not know of all that it waits for",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         submit(fixture, bob, 2, "secret");
         submit(fixture, ann, 2, "default");
         submit(fixture, bob, 4, "secret");
         submit(fixture, eve, 4, "default");
         for (const auto& who : {ann, bob}) why(fixture, who, 4);
         why(fixture, ann, 3);
       }},
      {"A preemption for, and of, what one may not know of",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         submit(fixture, ann, 4, "default");
         submit(fixture, bob, 4, "secret", 10);
         for (const auto& who : {ann, bob}) why(fixture, who, 1);
         why(fixture, bob, 2);
         fixture.exited("a1", lease_of(1), 15, Reason::signalled);
         submit(fixture, eve, 4, "default", 5);
         for (const auto& who : {ann, bob}) why(fixture, who, 3);
       }},
  };
}

/// Roles whose tasks fail alone.
std::vector<Scene> restarts() {
  const auto two_workers = [](restart::Policy policy = restart::OnFailure{}) {
    JobSpec spec = job_of({1, 2});
    spec.members.front().role = "worker";
    spec.members.front().restart = std::move(policy);
    return spec;
  };
  const auto run = [](ControlFixture& fixture, const JobSpec& spec, std::uint32_t tasks = 2) {
    fixture.hello("a1");
    fixture.submit(spec, "workers that fail alone");
    for (std::uint32_t i = 0; i < tasks; ++i) fixture.started("a1", lease_of(1, i));
  };
  return {
      {"One fails, waits, and is started again in its place",
       [=](ControlFixture& fixture) {
         run(fixture, two_workers());
         fixture.exited("a1", lease_of(1, 1), 3);
         fixture.submit({2}, "what takes all that is left");
         fixture.pass(2s);
         fixture.started("a1", lease_of(1, 1, 2));
         fixture.exited("a1", lease_of(1, 0));
         fixture.exited("a1", lease_of(1, 1, 2));
       }},
      {"One fails too often, and the other goes on",
       [=](ControlFixture& fixture) {
         run(fixture, two_workers(restart::OnFailure{2, 0s}));
         for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
           fixture.exited("a1", lease_of(1, 1, epoch), 9, Reason::signalled);
           fixture.pass(1s);
         }
         fixture.exited("a1", lease_of(1, 0));
       }},
      {"One is never restarted, the other asks not to be",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers(restart::Never{});
         run(fixture, spec);
         fixture.exited("a1", lease_of(1, 1), 3);
         fixture.exited("a1", lease_of(1, 0), 64);
       }},
      {"One asks that all end, while another waits",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers();
         spec.members.front().count = 3;
         run(fixture, spec, 3);
         fixture.exited("a1", lease_of(1, 0), 3);
         fixture.exited("a1", lease_of(1, 2), 65);
         fixture.exited("a1", lease_of(1, 1), 15, Reason::signalled);
       }},
      {"A role without a rule takes the others with it",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_roles();
         spec.members.front().restart = restart::OnFailure{};
         run(fixture, spec, 3);
         fixture.exited("a1", lease_of(1, 0), 3);
         fixture.exited("a1", lease_of(1, 2), 7);
         fixture.exited("a1", lease_of(1, 1), 15, Reason::signalled);
       }},
      {"Too few are there for too long",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers(restart::Never{});
         spec.members.front().minimum = Minimum{2, 5s};
         run(fixture, spec);
         fixture.exited("a1", lease_of(1, 1), 3);
         fixture.pass(6s);
         fixture.exited("a1", lease_of(1, 0), 15, Reason::signalled);
       }},
      {"There are enough again in time",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers();
         spec.members.front().minimum = Minimum{2, 5s};
         run(fixture, spec);
         fixture.exited("a1", lease_of(1, 1), 3);
         fixture.pass(6s);
         fixture.started("a1", lease_of(1, 1, 2));
         fixture.exited("a1", lease_of(1, 0));
         fixture.exited("a1", lease_of(1, 1, 2));
       }},
      {"A job is stopped while all of it waits",
       [=](ControlFixture& fixture) {
         run(fixture, two_workers());
         for (std::uint32_t i = 0; i < 2; ++i) fixture.exited("a1", lease_of(1, i), 3);
         fixture.ask("stop 1", end(1));
         fixture.pass(2s);
       }},
      {"A job is preempted while all of it waits",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers();
         spec.preemptible = true;
         run(fixture, spec);
         for (std::uint32_t i = 0; i < 2; ++i) fixture.exited("a1", lease_of(1, i), 3);
         fixture.submit({4, {}, {}, 1}, "4 slots, more important");
         fixture.pass(2s);
       }},
      {"The agent is lost while one waits there",
       [=](ControlFixture& fixture) {
         JobSpec spec = two_workers(restart::OnFailure{3, 60s, 1, 60s});
         spec.members.front().slots = 3;
         fixture.hello("a1");
         fixture.hello("a2");
         fixture.submit(spec, "workers that fail alone");
         const std::string where = fixture.task(1, 1).agent.value;
         fixture.exited(where, lease_of(1, 1), 3);
         fixture.falls_silent(where);
         fixture.pass(61s);
         fixture.exited(fixture.task(1, 0).agent.value, lease_of(1, 0), 15, Reason::signalled);
         fixture.hello("a3");
       }},
      {"The agent is drained while one waits there",
       [=](ControlFixture& fixture) {
         run(fixture, two_workers());
         fixture.exited("a1", lease_of(1, 1), 3);
         fixture.ask("drain a1", requests::SetAgent{AgentId("a1"), SlotState::draining});
         fixture.pass(2s);
         fixture.exited("a1", lease_of(1, 0), 15, Reason::signalled);
         fixture.hello("a2");
       }},
  };
}

/// Clients that keep their jobs alive; a restart of the master makes it forget those that have none.
std::vector<Scene> sessions() {
  const access::Principal ann{"ann", false, {{"default", access::Role::editor}}, "t2", ""};
  const SessionId id("s1");
  const auto attend = [=](ControlFixture& fixture, std::uint64_t seen = 0, Duration wait = 0s) {
    fixture.ask(ann, wait > 0s ? "attend, and wait " + cadre::to_string(wait) : "keep_session",
                requests::KeepSession{id, "laptop", 4711, "train.py", seen, wait});
  };
  const auto seen = [](const ControlFixture& fixture) { return fixture.answered<requests::SessionNews>().version; };
  const auto submit = [=](ControlFixture& fixture) {
    JobSpec spec = job_of({1, 1});
    spec.session = id;
    spec.actor = "Counter";
    fixture.ask(ann, "submit an actor", requests::Submit{spec});
  };
  return {
      {"A client with two actors, of which it ends one, and leaves",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         attend(fixture);
         submit(fixture);
         submit(fixture);
         attend(fixture);
         attend(fixture, seen(fixture), 4s);
         fixture.started("a1", lease_of(1));
         attend(fixture, seen(fixture), 4s);
         fixture.says("a1", messages::Report{lease_of(1), 1, "127.0.0.1:4000"});
         fixture.ask(ann, "kill 1", end(1, 0s));
         fixture.exited("a1", lease_of(1), 9, Reason::signalled);
         attend(fixture);
         attend(fixture, seen(fixture), 4s);
         fixture.ask(ann, "end the session", requests::EndSession{id});
         fixture.exited("a1", lease_of(2), 9, Reason::signalled);
       }},
      {"A client is gone, and its actors with it",
       [=](ControlFixture& fixture) {
         fixture.hello("a1", 1);
         attend(fixture);
         submit(fixture);
         submit(fixture);
         fixture.pass(6s);
         fixture.exited("a1", lease_of(1), 9, Reason::signalled);
         attend(fixture);
       }},
      {"A client is gone while the agent of its actor is lost",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         attend(fixture);
         submit(fixture);
         fixture.started("a1", lease_of(1));
         fixture.falls_silent("a1");
         for (int i = 0; i < 8; ++i) {
           fixture.pass(4s);
           attend(fixture);
         }
         fixture.pass(6s);
         fixture.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"A client goes on through a restart of the master",
       [=](ControlFixture& fixture) {
         fixture.hello("a1");
         attend(fixture);
         submit(fixture);
         attend(fixture);
         const std::uint64_t before = seen(fixture);
         fixture.restart();
         fixture.pass(4s);
         attend(fixture, before, 4s);
         fixture.pass(6s);
       }},
  };
}

/// Those in which a restart of the master makes a difference, or nothing happens.
std::vector<Scene> drains_and_commands() {
  const auto set = [](ControlFixture& fixture, SlotState state, std::optional<std::int32_t> slot = {}) {
    if (slot) {
      fixture.ask(name_of(state) + " a1 slot " + std::to_string(*slot), requests::SetSlot{AgentId("a1"), *slot, state});
    } else {
      fixture.ask(name_of(state) + " a1", requests::SetAgent{AgentId("a1"), state});
    }
  };
  return {
      {"A draining agent lets its task end and takes no other",
       [set](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         set(fixture, SlotState::draining);
         fixture.submit({1}, "1 slot");
         fixture.exited("a1", lease_of(1));
         set(fixture, SlotState::enabled);
       }},
      {"A disabled agent stops its task",
       [set](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         set(fixture, SlotState::disabled);
         fixture.exited("a1", lease_of(1), 15, Reason::signalled);
         fixture.hello("a2");
       }},
      {"A draining slot leaves with its task",
       [set](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         set(fixture, SlotState::draining, 0);
         fixture.submit({2}, "2 slots");
         fixture.submit({1}, "1 slot");
         fixture.exited("a1", lease_of(1));
         set(fixture, SlotState::enabled, 0);
       }},
      {"A disabled slot stops its task and no other",
       [set](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.submit({2}, "2 slots");
         set(fixture, SlotState::disabled, 1);
         fixture.exited("a1", lease_of(1), 15, Reason::signalled);
         set(fixture, SlotState::enabled, 1);
       }},
      {"A lost task does not come back to an agent that was disabled since",
       [set](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.falls_silent("a1");
         fixture.pass(31s);
         set(fixture, SlotState::disabled);
         fixture.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"What is not there",
       [set](ControlFixture& fixture) {
         set(fixture, SlotState::disabled);
         fixture.hello("a1");
         set(fixture, SlotState::disabled, 4);
       }},
      {"A session that the master does not know",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.falls_silent("a1");
         fixture.restart();
         fixture.says("a1", messages::Beat{});
       }},
      {"The order to start did not reach it",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({4}, "4 slots");
         fixture.hello("a1", 4, std::set<LeaseId>());
       }},
      {"A command inside a task that is starting, and one that ends before it starts",
       [](ControlFixture& fixture) {
         fixture.hello("a1");
         fixture.submit({2}, "2 slots");
         fixture.ask("exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         fixture.started("a1", lease_of(1));
         fixture.submit({2}, "2 slots");
         fixture.ask("exec ls in 2.0", requests::RunExec{{{2}, 0}, {"ls"}});
         fixture.exited("a1", lease_of(2));
       }},
      {"A command inside a task",
       [](ControlFixture& fixture) {
         run_one(fixture, {2}, "2 slots");
         fixture.ask("exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         const std::uint64_t number = (std::uint64_t{1} << 32) + 1;
         fixture.says("a1", messages::ExecNews{number, supervision::ExecOutput{number, 1, {}}});
         fixture.says("a1", messages::ExecNews{number, supervision::ExecEnded{number, 0, ""}});
         fixture.ask("exec top in 1.0", requests::RunExec{{{1}, 0}, {"top"}});
         fixture.leaves();
         fixture.ask("exec ls in 2.0", requests::RunExec{{{2}, 0}, {"ls"}});
         fixture.ask("exec sleep in 1.0", requests::RunExec{{{1}, 0}, {"sleep"}});
         fixture.hello("a1");
         fixture.ask("exec sleep in 1.0", requests::RunExec{{{1}, 0}, {"sleep"}});
         fixture.exited("a1", lease_of(1));
       }},
  };
}

void expect_golden(const std::string& name, const std::vector<Scene>& scenes) {
  std::string text;
  for (const Scene& scene : scenes) {
    ControlFixture fixture(scene.settings);
    scene.play(fixture);
    text += "# " + scene.title + "\n" + fixture.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/control/" + name + ".txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

TEST(Control, MatchesTheGoldenFileOfJobs) { expect_golden("jobs", jobs()); }
TEST(Control, MatchesTheGoldenFileOfStops) { expect_golden("stops", stops()); }
TEST(Control, MatchesTheGoldenFileOfAgents) { expect_golden("agents", agents()); }
TEST(Control, KeepsTheTranscriptOfDrainsAndCommands) { expect_golden("drains", drains_and_commands()); }
TEST(Control, MatchesTheGoldenFileOfSessions) { expect_golden("sessions", sessions()); }
TEST(Control, MatchesTheGoldenFileOfRestarts) { expect_golden("restarts", restarts()); }
TEST(Control, MatchesTheGoldenFileOfQuotas) { expect_golden("quotas", quotas()); }
TEST(Control, MatchesTheGoldenFileOfRights) { expect_golden("rights", rights()); }

/// What became of all jobs and tasks, but for times.
std::string ends_of(const ModelDatabase& database) {
  std::string text;
  for (const auto& [id, job] : database.jobs) {
    text += "job " + std::to_string(id.value) + " " + name_of(job.stage) + " " + name_of(job.reason) + " " +
            std::to_string(job.code) + ", runs " + std::to_string(job.runs) + "\n";
  }
  for (const auto& [id, task] : database.tasks) {
    text += "task " + to_string(id) + "/" + std::to_string(task.lease.epoch.value) + " " +
            (lease::current(task.lease) ? "active" : "not active") + " on " + task.agent.value + ", slots " +
            in_words(task.slots) + "\n";
  }
  return text;
}

TEST(Control, DecidesTheSameIfItIsRestartedAllTheTime) {
  for (const std::vector<Scene>& scenes : {jobs(), stops(), agents(), restarts(), quotas(), rights()}) {
    for (const Scene& scene : scenes) {
      SCOPED_TRACE(scene.title);
      ControlFixture plain(scene.settings);
      scene.play(plain);
      ControlFixture restarted(scene.settings, ControlFixture::Restarts::yes);
      scene.play(restarted);
      EXPECT_EQ(ends_of(restarted.database()), ends_of(plain.database())) << restarted.text();
    }
  }
}

}  // namespace
}  // namespace cadre::cluster::control
