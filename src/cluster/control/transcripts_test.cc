#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "cluster/control/desk_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;
using lease::Reason;

struct Scene {
  std::string title;
  std::function<void(Desk&)> play;
  Settings settings = {};
};

JobSpec two_roles() {
  JobSpec spec = job_of({1, 2});
  spec.members.front().role = "worker";
  Member& chief = spec.members.emplace_back(spec.members.front());
  chief.role = "chief";
  chief.count = 1;
  chief.slots = 2;
  return spec;
}

void run_one(Desk& desk, const Wish& wish, const std::string& words) {
  desk.hello("a1");
  desk.submit(wish, words);
  desk.started("a1", lease_of(1));
}

requests::Request end(std::uint64_t job, std::optional<Duration> grace = {}) { return requests::EndJob{{job}, grace}; }

std::vector<Scene> jobs() {
  return {
      {"A job runs and ends",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.exited("a1", lease_of(1));
       }},
      {"A job fails",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.exited("a1", lease_of(1), 3);
       }},
      {"A job waits for an agent",
       [](Desk& desk) {
         desk.submit({2}, "2 slots");
         desk.hello("a1");
       }},
      {"A job waits for another to end",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.submit({1}, "1 slot");
         desk.exited("a1", lease_of(1));
       }},
      {"A gang of three on two agents",
       [](Desk& desk) {
         desk.hello("a1");
         desk.hello("a2");
         desk.submit({2, 3}, "3 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 3; ++i) desk.started(desk.task(1, i).agent.value, lease_of(1, i));
         for (std::uint32_t i = 0; i < 3; ++i) desk.exited(desk.task(1, i).agent.value, lease_of(1, i));
       }},
      {"One of a gang fails, and the others are stopped",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({1, 3}, "3 tasks of 1 slot");
         for (std::uint32_t i = 0; i < 3; ++i) desk.started("a1", lease_of(1, i));
         desk.exited("a1", lease_of(1, 1), 7);
         desk.exited("a1", lease_of(1, 0), 15, Reason::signalled);
         desk.exited("a1", lease_of(1, 2));
       }},
      {"A gang of two roles",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit(two_roles(), "2 workers of 1 slot, 1 chief of 2");
       }},
      {"A gang grows when there is room",
       [](Desk& desk) {
         desk.hello("a1", 2);
         desk.submit({1, 3, 1}, "1 to 3 tasks of 1 slot");
         desk.hello("a2", 2);
       }},
      {"Slots divided over agents",
       [](Desk& desk) {
         desk.hello("a1");
         desk.hello("a2");
         desk.submit({8}, "8 slots");
       }},
      {"A job that could never run is refused",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({5}, "5 slots");
         desk.submit({4}, "4 slots");
       }},
      {"A job goes ahead of another",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.submit({3}, "3 slots");
         desk.submit({2}, "2 slots");
         desk.ask("move 3 ahead of 2", requests::MoveJob{{3}, {2}, false});
         desk.exited("a1", lease_of(1));
       }},
      {"A job becomes more important",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.submit({3}, "3 slots");
         desk.submit({2}, "2 slots");
         desk.ask("set the priority of 3 to 1", requests::SetJob{{3}, 1, {}, {}, {}});
         desk.exited("a1", lease_of(1));
       }},
      {"Reports count only from the lease that is held",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.says("a1", messages::Report{lease_of(1), 1, "loss 3"});
         desk.says("a1", messages::Report{lease_of(1, 0, 2), 2, "loss 2"});
         desk.says("a1", messages::Report{lease_of(9), 1, "loss 1"});
         desk.exited("a1", lease_of(1));
         desk.says("a1", messages::Report{lease_of(1), 3, "loss 0"});
       }},
      {"An end is confirmed whatever it is the end of",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.exited("a1", lease_of(1, 0, 7), 1);
         desk.exited("a1", lease_of(9), 1);
         desk.exited("a1", lease_of(1));
         desk.exited("a1", lease_of(1), 1);
       }},
  };
}

std::vector<Scene> stops() {
  const Wish loose{4, {}, {}, 50, true};
  return {
      {"A job is stopped while it waits",
       [](Desk& desk) {
         desk.submit({2}, "2 slots");
         desk.ask("stop 1", end(1));
       }},
      {"A job is stopped before it has started",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({2}, "2 slots");
         desk.ask("stop 1", end(1));
         desk.exited("a1", lease_of(1), 0, Reason::signalled);
       }},
      {"A job is stopped while it runs, then with less grace, then killed",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.ask("stop 1", end(1));
         desk.ask("stop 1 within 5s", end(1, 5s));
         desk.ask("stop 1 within 10s", end(1, 10s));
         desk.ask("kill 1", end(1, 0s));
         desk.exited("a1", lease_of(1), 9, Reason::signalled);
         desk.ask("stop 1", end(1));
       }},
      {"A job is preempted, and comes back",
       [loose](Desk& desk) {
         run_one(desk, loose, "4 slots, priority 50, preemptible");
         desk.submit({4}, "4 slots");
         desk.exited("a1", lease_of(1), 15, Reason::signalled);
         desk.started("a1", lease_of(2));
         desk.exited("a1", lease_of(2));
         desk.started("a1", lease_of(1, 0, 2));
         desk.exited("a1", lease_of(1, 0, 2));
       }},
      {"A user's stop outdoes a preemption",
       [loose](Desk& desk) {
         run_one(desk, loose, "4 slots, priority 50, preemptible");
         desk.submit({4}, "4 slots");
         desk.ask("stop 1", end(1));
         desk.exited("a1", lease_of(1), 15, Reason::signalled);
       }},
      {"A job is stopped while its agent is lost",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.falls_silent("a1");
         desk.pass(31s);
         desk.ask("stop 1", end(1));
         desk.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"A gang that stops because an agent was lost is stopped by its user",
       [](Desk& desk) {
         desk.hello("a1", 2);
         desk.hello("a2", 2);
         desk.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) desk.started(desk.task(1, i).agent.value, lease_of(1, i));
         desk.falls_silent("a1");
         desk.pass(31s);
         desk.ask("stop 1", end(1));
         desk.exited("a2", lease_of(1, desk.task(1, 0).agent.value == "a2" ? 0 : 1), 15, Reason::signalled);
       }},
      {"A stop that the agent did not hear is told again",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.falls_silent("a1");
         desk.ask("kill 1", end(1, 0s));
         desk.hello("a1");
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
       [changed](Desk& desk) {
         desk.hello("a1");
         desk.say_hello("b", changed([](auto& hello) { hello.protocols = {9, std::nullopt, "9.0.0"}; }));
         desk.say_hello("b", changed([](auto& hello) { hello.pool = "gpus"; }));
         desk.say_hello("b", changed([](auto& hello) { hello.agent.slots = 9; }));
         desk.say_hello("b", changed([](auto& hello) { hello.identity = "another"; }));
         desk.proven() = AgentId("a7");
         desk.say_hello("b", changed([](auto&) {}));
       }},
      {"An agent is lost, and its job runs elsewhere",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.falls_silent("a1");
         desk.hello("a2");
         desk.pass(31s);
         desk.started("a2", lease_of(1, 0, 2));
       }},
      {"It comes back too late: what it still runs is killed before it gets more",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.falls_silent("a1");
         desk.hello("a2");
         desk.pass(31s);
         desk.submit({4}, "4 slots");
         desk.hello("a1", 4, std::set{lease_of(1)});
         desk.hello("a1", 4, std::set<LeaseId>());
       }},
      {"It comes back in time, as if nothing had happened",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.falls_silent("a1");
         desk.pass(31s);
         desk.hello("a1", 4, std::set{lease_of(1)});
         desk.exited("a1", lease_of(1));
       }},
      {"It comes back in time with a whole gang",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) desk.started("a1", lease_of(1, i));
         desk.falls_silent("a1");
         desk.pass(31s);
         desk.hello("a1", 4, std::set{lease_of(1, 0), lease_of(1, 1)});
       }},
      {"It comes back with half a gang, which begins anew",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) desk.started("a1", lease_of(1, i));
         desk.falls_silent("a1");
         desk.pass(31s);
         desk.hello("a1", 4, std::set{lease_of(1, 0)});
         desk.hello("a1", 4, std::set<LeaseId>());
       }},
      {"It was restarted and lost a task",
       [](Desk& desk) {
         run_one(desk, {4}, "4 slots");
         desk.hello("a1", 4, std::set<LeaseId>());
       }},
      {"A member that its agent lost makes its gang wait again",
       [](Desk& desk) {
         desk.hello("a1", 2);
         desk.hello("a2", 2);
         desk.submit({2, 2}, "2 tasks of 2 slots");
         for (std::uint32_t i = 0; i < 2; ++i) desk.started(desk.task(1, i).agent.value, lease_of(1, i));
         desk.hello("a1", 2, std::set<LeaseId>());
         desk.exited("a2", lease_of(1, desk.task(1, 0).agent.value == "a2" ? 0 : 1), 15, Reason::signalled);
       }},
      {"It comes back with fewer slots than its task uses, and then with all",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({2}, "2 slots");
         desk.submit({2}, "2 slots");
         desk.exited("a1", lease_of(1));
         desk.hello("a1", 2);
         desk.submit({1}, "1 slot");
         desk.hello("a1", 4);
         desk.submit({1}, "1 slot");
         desk.submit({1}, "1 slot");
       }},
  };
}

std::vector<Scene> quotas() {
  const access::Principal ann{"ann", false, {{"default", access::Role::editor}}, "t2", ""};
  const auto submit = [ann](Desk& desk, std::int32_t slots, const std::string& pool = "default") {
    JobSpec spec = job_of({slots});
    spec.pool = pool;
    const std::string where = pool == "default" ? "" : " in pool " + pool;
    desk.ask(ann, "submit " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") + where,
             requests::Submit{spec});
  };
  const auto why = [ann](Desk& desk, std::uint64_t job) {
    desk.ask(ann, "why does " + std::to_string(job) + " wait", requests::Why{{job}});
  };
  const AccountId of_ann = account_of_user("ann");
  Settings two_pools;
  two_pools.pools["other"] = {};
  return {
      {"A user with a quota",
       [=](Desk& desk) {
         desk.hello("a1", 8);
         desk.quota(of_ann, 4);
         submit(desk, 3);
         submit(desk, 2);
         submit(desk, 5);
         submit(desk, 4);
         why(desk, 2);
         why(desk, 3);
         desk.submit({1}, "1 slot");
         desk.quota(of_ann, 5);
         why(desk, 3);
         desk.exited("a1", lease_of(1));
         desk.exited("a1", lease_of(2));
       }},
      {"A quota is lowered, and nobody is stopped for it",
       [=](Desk& desk) {
         desk.hello("a1", 8);
         submit(desk, 4);
         desk.quota(of_ann, 2);
         submit(desk, 1);
         why(desk, 2);
         desk.quota(of_ann, std::nullopt);
       }},
      {"The quota of a workspace binds all who are in it",
       [=](Desk& desk) {
         desk.hello("a1", 8);
         desk.quota(account_of_workspace("default"), 4);
         submit(desk, 2);
         desk.submit({3}, "3 slots");
         why(desk, 2);
         submit(desk, 2);
       }},
      {"A user with a quota in two pools",
       [=](Desk& desk) {
         desk.hello("a1", 4);
         messages::Hello hello;
         hello.protocols = protocol::own();
         hello.agent.id = AgentId("b1");
         hello.agent.slots = 4;
         hello.slots.resize(4);
         hello.identity = "b1";
         hello.pool = "other";
         desk.say_hello("b1", hello);
         desk.quota(of_ann, 4);
         submit(desk, 3, "other");
         submit(desk, 2);
         submit(desk, 1);
         why(desk, 2);
         desk.exited("b1", lease_of(1));
         submit(desk, 2, "other");
         why(desk, 4);
         desk.quota(of_ann, 6);
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
  const auto submit = [](Desk& desk, const access::Principal& who, std::int32_t slots, const std::string& workspace,
                         std::int32_t priority = 50) {
    JobSpec spec = job_of({slots});
    spec.workspace = workspace;
    spec.priority = priority;
    spec.preemptible = priority == 50;
    desk.ask(who, "submit " + std::to_string(slots) + " slots at " + std::to_string(priority) + " in " + workspace,
             requests::Submit{spec});
  };
  const auto why = [](Desk& desk, const access::Principal& who, std::uint64_t job) {
    desk.ask(who, "why " + std::to_string(job), requests::Why{{job}});
  };
  return {
      {"An editor changes what is his own, a viewer nothing, and who is not there knows of nothing",
       [=](Desk& desk) {
         desk.hello("a1");
         submit(desk, ann, 1, "default");
         submit(desk, bob, 1, "default");
         submit(desk, ann, 1, "secret");
         submit(desk, bob, 1, "secret");
         desk.ask(bob, "end 1", requests::EndJob{{1}, std::nullopt});
         desk.ask(eve, "end 1", requests::EndJob{{1}, std::nullopt});
         desk.ask(eve, "end 2", requests::EndJob{{2}, std::nullopt});
         desk.ask(eve, "exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         desk.ask(eve, "disable a1", requests::SetAgent{AgentId("a1"), SlotState::disabled});
         desk.ask(ann, "end 1", requests::EndJob{{1}, std::nullopt});
       }},
      {"Why something waits, told to who may not know of all that it waits for",
       [=](Desk& desk) {
         desk.hello("a1");
         submit(desk, bob, 2, "secret");
         submit(desk, ann, 2, "default");
         submit(desk, bob, 4, "secret");
         submit(desk, eve, 4, "default");
         for (const auto& who : {ann, bob}) why(desk, who, 4);
         why(desk, ann, 3);
       }},
      {"A preemption for, and of, what one may not know of",
       [=](Desk& desk) {
         desk.hello("a1");
         submit(desk, ann, 4, "default");
         submit(desk, bob, 4, "secret", 10);
         for (const auto& who : {ann, bob}) why(desk, who, 1);
         why(desk, bob, 2);
         desk.exited("a1", lease_of(1), 15, Reason::signalled);
         submit(desk, eve, 4, "default", 5);
         for (const auto& who : {ann, bob}) why(desk, who, 3);
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
  const auto run = [](Desk& desk, const JobSpec& spec, std::uint32_t tasks = 2) {
    desk.hello("a1");
    desk.submit(spec, "workers that fail alone");
    for (std::uint32_t i = 0; i < tasks; ++i) desk.started("a1", lease_of(1, i));
  };
  return {
      {"One fails, waits, and is started again in its place",
       [=](Desk& desk) {
         run(desk, two_workers());
         desk.exited("a1", lease_of(1, 1), 3);
         desk.submit({2}, "what takes all that is left");
         desk.pass(2s);
         desk.started("a1", lease_of(1, 1, 2));
         desk.exited("a1", lease_of(1, 0));
         desk.exited("a1", lease_of(1, 1, 2));
       }},
      {"One fails too often, and the other goes on",
       [=](Desk& desk) {
         run(desk, two_workers(restart::OnFailure{2, 0s}));
         for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
           desk.exited("a1", lease_of(1, 1, epoch), 9, Reason::signalled);
           desk.pass(1s);
         }
         desk.exited("a1", lease_of(1, 0));
       }},
      {"One is never restarted, the other asks not to be",
       [=](Desk& desk) {
         JobSpec spec = two_workers(restart::Never{});
         run(desk, spec);
         desk.exited("a1", lease_of(1, 1), 3);
         desk.exited("a1", lease_of(1, 0), 64);
       }},
      {"One asks that all end, while another waits",
       [=](Desk& desk) {
         JobSpec spec = two_workers();
         spec.members.front().count = 3;
         run(desk, spec, 3);
         desk.exited("a1", lease_of(1, 0), 3);
         desk.exited("a1", lease_of(1, 2), 65);
         desk.exited("a1", lease_of(1, 1), 15, Reason::signalled);
       }},
      {"A role without a rule takes the others with it",
       [=](Desk& desk) {
         JobSpec spec = two_roles();
         spec.members.front().restart = restart::OnFailure{};
         run(desk, spec, 3);
         desk.exited("a1", lease_of(1, 0), 3);
         desk.exited("a1", lease_of(1, 2), 7);
         desk.exited("a1", lease_of(1, 1), 15, Reason::signalled);
       }},
      {"Too few are there for too long",
       [=](Desk& desk) {
         JobSpec spec = two_workers(restart::Never{});
         spec.members.front().minimum = Minimum{2, 5s};
         run(desk, spec);
         desk.exited("a1", lease_of(1, 1), 3);
         desk.pass(6s);
         desk.exited("a1", lease_of(1, 0), 15, Reason::signalled);
       }},
      {"There are enough again in time",
       [=](Desk& desk) {
         JobSpec spec = two_workers();
         spec.members.front().minimum = Minimum{2, 5s};
         run(desk, spec);
         desk.exited("a1", lease_of(1, 1), 3);
         desk.pass(6s);
         desk.started("a1", lease_of(1, 1, 2));
         desk.exited("a1", lease_of(1, 0));
         desk.exited("a1", lease_of(1, 1, 2));
       }},
      {"A job is stopped while all of it waits",
       [=](Desk& desk) {
         run(desk, two_workers());
         for (std::uint32_t i = 0; i < 2; ++i) desk.exited("a1", lease_of(1, i), 3);
         desk.ask("stop 1", end(1));
         desk.pass(2s);
       }},
      {"A job is preempted while all of it waits",
       [=](Desk& desk) {
         JobSpec spec = two_workers();
         spec.preemptible = true;
         run(desk, spec);
         for (std::uint32_t i = 0; i < 2; ++i) desk.exited("a1", lease_of(1, i), 3);
         desk.submit({4, {}, {}, 1}, "4 slots, more important");
         desk.pass(2s);
       }},
      {"The agent is lost while one waits there",
       [=](Desk& desk) {
         JobSpec spec = two_workers(restart::OnFailure{3, 60s, 1, 60s});
         spec.members.front().slots = 3;
         desk.hello("a1");
         desk.hello("a2");
         desk.submit(spec, "workers that fail alone");
         const std::string where = desk.task(1, 1).agent.value;
         desk.exited(where, lease_of(1, 1), 3);
         desk.falls_silent(where);
         desk.pass(61s);
         desk.exited(desk.task(1, 0).agent.value, lease_of(1, 0), 15, Reason::signalled);
         desk.hello("a3");
       }},
      {"The agent is drained while one waits there",
       [=](Desk& desk) {
         run(desk, two_workers());
         desk.exited("a1", lease_of(1, 1), 3);
         desk.ask("drain a1", requests::SetAgent{AgentId("a1"), SlotState::draining});
         desk.pass(2s);
         desk.exited("a1", lease_of(1, 0), 15, Reason::signalled);
         desk.hello("a2");
       }},
  };
}

/// Clients that keep their jobs alive; a restart of the master makes it forget those that have none.
std::vector<Scene> sessions() {
  const access::Principal ann{"ann", false, {{"default", access::Role::editor}}, "t2", ""};
  const SessionId id("s1");
  const auto attend = [=](Desk& desk, std::uint64_t seen = 0, Duration wait = 0s) {
    desk.ask(ann, wait > 0s ? "attend, and wait " + cadre::to_string(wait) : "attend",
             requests::Attend{id, "laptop", 4711, "train.py", seen, wait});
  };
  const auto seen = [](const Desk& desk) { return std::get<requests::SessionNews>(desk.answer()).version; };
  const auto submit = [=](Desk& desk) {
    JobSpec spec = job_of({1, 1});
    spec.session = id;
    spec.actor = "Counter";
    desk.ask(ann, "submit an actor", requests::Submit{spec});
  };
  return {
      {"A client with two actors, of which it ends one, and leaves",
       [=](Desk& desk) {
         desk.hello("a1");
         attend(desk);
         submit(desk);
         submit(desk);
         attend(desk);
         attend(desk, seen(desk), 4s);
         desk.started("a1", lease_of(1));
         attend(desk, seen(desk), 4s);
         desk.says("a1", messages::Report{lease_of(1), 1, "127.0.0.1:4000"});
         desk.ask(ann, "kill 1", end(1, 0s));
         desk.exited("a1", lease_of(1), 9, Reason::signalled);
         attend(desk);
         attend(desk, seen(desk), 4s);
         desk.ask(ann, "end the session", requests::EndSession{id});
         desk.exited("a1", lease_of(2), 9, Reason::signalled);
       }},
      {"A client is gone, and its actors with it",
       [=](Desk& desk) {
         desk.hello("a1", 1);
         attend(desk);
         submit(desk);
         submit(desk);
         desk.pass(6s);
         desk.exited("a1", lease_of(1), 9, Reason::signalled);
         attend(desk);
       }},
      {"A client is gone while the agent of its actor is lost",
       [=](Desk& desk) {
         desk.hello("a1");
         attend(desk);
         submit(desk);
         desk.started("a1", lease_of(1));
         desk.falls_silent("a1");
         for (int i = 0; i < 8; ++i) {
           desk.pass(4s);
           attend(desk);
         }
         desk.pass(6s);
         desk.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"A client goes on through a restart of the master",
       [=](Desk& desk) {
         desk.hello("a1");
         attend(desk);
         submit(desk);
         attend(desk);
         const std::uint64_t before = seen(desk);
         desk.restart();
         desk.pass(4s);
         attend(desk, before, 4s);
         desk.pass(6s);
       }},
  };
}

/// Those in which a restart of the master makes a difference, or nothing happens.
std::vector<Scene> doors() {
  const auto set = [](Desk& desk, SlotState state, std::optional<std::int32_t> slot = {}) {
    if (slot) {
      desk.ask(name_of(state) + " a1 slot " + std::to_string(*slot), requests::SetSlot{AgentId("a1"), *slot, state});
    } else {
      desk.ask(name_of(state) + " a1", requests::SetAgent{AgentId("a1"), state});
    }
  };
  return {
      {"A draining agent lets its task end and takes no other",
       [set](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         set(desk, SlotState::draining);
         desk.submit({1}, "1 slot");
         desk.exited("a1", lease_of(1));
         set(desk, SlotState::enabled);
       }},
      {"A disabled agent stops its task",
       [set](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         set(desk, SlotState::disabled);
         desk.exited("a1", lease_of(1), 15, Reason::signalled);
         desk.hello("a2");
       }},
      {"A draining slot leaves with its task",
       [set](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         set(desk, SlotState::draining, 0);
         desk.submit({2}, "2 slots");
         desk.submit({1}, "1 slot");
         desk.exited("a1", lease_of(1));
         set(desk, SlotState::enabled, 0);
       }},
      {"A disabled slot stops its task and no other",
       [set](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.submit({2}, "2 slots");
         set(desk, SlotState::disabled, 1);
         desk.exited("a1", lease_of(1), 15, Reason::signalled);
         set(desk, SlotState::enabled, 1);
       }},
      {"A lost task does not come back to an agent that was disabled since",
       [set](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.falls_silent("a1");
         desk.pass(31s);
         set(desk, SlotState::disabled);
         desk.hello("a1", 4, std::set{lease_of(1)});
       }},
      {"What is not there",
       [set](Desk& desk) {
         set(desk, SlotState::disabled);
         desk.hello("a1");
         set(desk, SlotState::disabled, 4);
       }},
      {"A session that the master does not know",
       [](Desk& desk) {
         desk.hello("a1");
         desk.falls_silent("a1");
         desk.restart();
         desk.says("a1", messages::Beat{});
       }},
      {"The order to start did not reach it",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({4}, "4 slots");
         desk.hello("a1", 4, std::set<LeaseId>());
       }},
      {"A command inside a task that is starting, and one that ends before it starts",
       [](Desk& desk) {
         desk.hello("a1");
         desk.submit({2}, "2 slots");
         desk.ask("exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         desk.started("a1", lease_of(1));
         desk.submit({2}, "2 slots");
         desk.ask("exec ls in 2.0", requests::RunExec{{{2}, 0}, {"ls"}});
         desk.exited("a1", lease_of(2));
       }},
      {"A command inside a task",
       [](Desk& desk) {
         run_one(desk, {2}, "2 slots");
         desk.ask("exec ls in 1.0", requests::RunExec{{{1}, 0}, {"ls"}});
         const std::uint64_t number = (std::uint64_t{1} << 32) + 1;
         desk.says("a1", messages::ExecNews{number, supervision::ExecOutput{number, 1, {}}});
         desk.says("a1", messages::ExecNews{number, supervision::ExecEnded{number, 0, ""}});
         desk.ask("exec top in 1.0", requests::RunExec{{{1}, 0}, {"top"}});
         desk.leaves();
         desk.ask("exec ls in 2.0", requests::RunExec{{{2}, 0}, {"ls"}});
         desk.ask("exec sleep in 1.0", requests::RunExec{{{1}, 0}, {"sleep"}});
         desk.hello("a1");
         desk.ask("exec sleep in 1.0", requests::RunExec{{{1}, 0}, {"sleep"}});
         desk.exited("a1", lease_of(1));
       }},
  };
}

void expect_golden(const std::string& name, const std::vector<Scene>& scenes) {
  std::string text;
  for (const Scene& scene : scenes) {
    Desk desk(scene.settings);
    scene.play(desk);
    text += "# " + scene.title + "\n" + desk.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/control/" + name + ".txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

TEST(Control, TellsTheLivesOfJobsAsItDid) { expect_golden("jobs", jobs()); }
TEST(Control, TellsOfStopsAsItDid) { expect_golden("stops", stops()); }
TEST(Control, TellsOfAgentsThatComeAndGoAsItDid) { expect_golden("agents", agents()); }
TEST(Control, TellsOfDoorsAndCommandsAsItDid) { expect_golden("doors", doors()); }
TEST(Control, TellsOfClientsAsItDid) { expect_golden("sessions", sessions()); }
TEST(Control, TellsOfRestartsAsItDid) { expect_golden("restarts", restarts()); }
TEST(Control, TellsOfQuotasAsItDid) { expect_golden("quotas", quotas()); }
TEST(Control, TellsWhatPeopleMayKnowAndDoAsItDid) { expect_golden("rights", rights()); }

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
      Desk plain(scene.settings);
      scene.play(plain);
      Desk restarted(scene.settings, Desk::Restarts::yes);
      scene.play(restarted);
      EXPECT_EQ(ends_of(restarted.database()), ends_of(plain.database())) << restarted.text();
    }
  }
}

}  // namespace
}  // namespace cadre::cluster::control
