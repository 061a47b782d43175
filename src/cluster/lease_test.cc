#include "cluster/lease.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "base/overloaded.h"
#include "base/seeds.h"
#include "describe/scalar.h"

namespace cadre::cluster::lease {
namespace {

std::string to_text(const Held& held) { return held.agent.value + "/" + std::to_string(held.epoch.value); }

std::string to_text(Reason reason) {
  static constexpr const char* names[] = {"exited",        "signalled",    "killed by user", "preempted",
                                          "out of memory", "unresponsive", "agent lost",     "failed to start"};
  return names[static_cast<std::size_t>(reason)];
}

std::string to_text(const State& state) {
  const std::string details = std::visit(
      overloaded{
          [](const Queued& one) { return one.lost ? ", lost " + to_text(*one.lost) : ""; },
          [](const Placed& one) { return " " + to_text(one.held); },
          [](const Running& one) { return " " + to_text(one.held); },
          [](const Stopping& one) { return " " + to_text(one.held) + ", " + to_text(one.why); },
          [](const Ended& one) { return ", " + to_text(one.ending.reason) + " " + std::to_string(one.ending.code); },
      },
      state.stage);
  return std::string(describe::name_of(stage_of(state))) + details;
}

std::string to_text(const Event& event) {
  return std::visit(
      overloaded{
          [](const Place& one) { return "place on " + one.agent.value; },
          [](const Started& one) { return "started " + to_text(one.held); },
          [](const Exited& one) { return "exited " + to_text(one.held) + " with " + std::to_string(one.ending.code); },
          [](const Stop& one) { return "stop: " + to_text(one.why); },
          [](const AgentLost& one) { return "lost " + one.agent.value; },
          [](const Reported& one) { return "reported " + to_text(one.held); },
          [](const NotReported& one) { return "not reported " + to_text(one.held); },
          [](const Again&) { return std::string("again"); },
      },
      event);
}

std::string to_text(const Effect& effect) {
  return std::visit(overloaded{
                        [](const SendStart& one) { return "start " + to_text(one.held); },
                        [](const SendStop& one) { return "stop " + to_text(one.held) + ": " + to_text(one.why); },
                        [](const SendKill& one) { return "kill " + to_text(one.held); },
                    },
                    effect);
}

const AgentId a("a");
const AgentId b("b");
const Held a1{a, {1}};
const Held a2{a, {2}};
const Held b2{b, {2}};
const Held b3{b, {3}};

std::string tell(const std::string& title, const std::vector<Event>& news) {
  std::string text = title + "\n";
  State state;
  for (const Event& event : news) {
    const Step next = step(state, event);
    std::string line = "  " + to_text(event);
    line.resize(std::max<std::size_t>(line.size(), 32), ' ');
    line += " -> " + to_text(next.next);
    for (const Effect& effect : next.effects) line += "; " + to_text(effect);
    text += line + "\n";
    state = next.next;
  }
  return text + "\n";
}

TEST(Lease, MatchesTheGoldenTranscripts) {
  std::string text;
  text += tell("A plain life", {Place{a}, Started{a1}, Exited{a1, {Reason::exited, 3}}});
  text += tell("It fails to start", {Place{a}, Exited{a1, {Reason::failed_to_start, 127}}, Again{}, Place{b}});
  text += tell("The order to start was lost on the way", {Place{a}, NotReported{a1}, Started{a1}});
  text += tell("It is preempted and runs again elsewhere",
               {Place{a}, Started{a1}, Stop{Reason::preempted}, Exited{a1, {Reason::signalled, 15}}, Again{}, Place{b},
                Started{b2}});
  text += tell("Its agent comes back in time", {Place{a}, Started{a1}, AgentLost{a}, Reported{a1}});
  text += tell("Its agent comes back too late",
               {Place{a}, Started{a1}, AgentLost{a}, Place{b}, Reported{a1}, Started{b2}, Exited{a1, {}}});
  text += tell("It ended while its agent was cut off",
               {Place{a}, Started{a1}, AgentLost{a}, Exited{a1, {Reason::out_of_memory, 9}}});
  text += tell("Its agent comes back without it", {Place{a}, Started{a1}, AgentLost{a}, NotReported{a1}, Place{b}});
  text += tell("Its agent was restarted and lost it", {Place{a}, Started{a1}, NotReported{a1}});
  text += tell("Its agent comes back without having heard of the stop",
               {Place{a}, Started{a1}, Stop{}, Reported{a1}, Exited{a1, {Reason::signalled, 15}}});
  text += tell("Its agent is lost while it stops", {Place{a}, Started{a1}, Stop{}, AgentLost{a}, Reported{a1}});
  text += tell("It is stopped while its agent is lost", {Place{a}, Started{a1}, AgentLost{a}, Stop{}, Reported{a1}});
  text += tell("It is stopped while it waits", {Stop{}, Place{a}});
  text += tell("Late news of an old lease", {Place{a}, AgentLost{a}, Place{b}, Started{a1}, Exited{a1, {}},
                                             NotReported{a1}, AgentLost{a}, Started{b2}});
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/lease.txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

const State states[] = {
    {{}, Queued{}},
    {{2}, Queued{}},
    {{2}, Queued{a2}},
    {{2}, Placed{a2}},
    {{2}, Running{a2}},
    {{2}, Stopping{a2, Reason::preempted}},
    {{2}, Ended{{Reason::exited, 1}}},
};

std::vector<Event> all_news() {
  std::vector<Event> news = {Place{a}, Place{b}, Stop{}, Stop{Reason::preempted}, AgentLost{a}, AgentLost{b}, Again{}};
  for (const Held& held : {a1, a2, b2, b3}) {
    news.insert(news.end(), {Started{held}, Exited{held, {}}, Reported{held}, NotReported{held}});
  }
  return news;
}

std::optional<Held> held_of(const Event& event) {
  return std::visit(
      [](const auto& one) -> std::optional<Held> {
        if constexpr (requires { one.held; }) return one.held;
        return std::nullopt;
      },
      event);
}

std::optional<Held> lost_of(const State& state) {
  const auto* queued = std::get_if<Queued>(&state.stage);
  return queued != nullptr ? queued->lost : std::nullopt;
}

TEST(Lease, HasAnAnswerToAllNewsInEveryState) {
  for (const State& state : states) {
    for (const Event& event : all_news()) {
      SCOPED_TRACE(to_text(state) + " + " + to_text(event));
      const Step next = step(state, event);
      EXPECT_GE(next.next.epoch, state.epoch);
      const std::optional<Held> now = current(next.next);
      EXPECT_TRUE(!now || now->epoch == next.next.epoch) << "only the last epoch counts";
      for (const Effect& effect : next.effects) {
        const Held held = std::visit([](const auto& one) { return one.held; }, effect);
        const bool is_kill = std::holds_alternative<SendKill>(effect);
        EXPECT_EQ(now == held, !is_kill) << to_text(effect)
                                         << ": who holds the lease is never killed, nobody else told";
      }
    }
  }
}

TEST(Lease, IsNotChangedByNewsOfAnother) {
  for (const State& state : states) {
    for (const Event& event : all_news()) {
      const std::optional<Held> held = held_of(event);
      if (!held || held == current(state) || held == lost_of(state)) continue;
      SCOPED_TRACE(to_text(state) + " + " + to_text(event));
      const Step next = step(state, event);
      EXPECT_EQ(next.next, state);
      const bool runs = std::holds_alternative<Started>(event) || std::holds_alternative<Reported>(event);
      EXPECT_EQ(next.effects, runs ? std::vector<Effect>{SendKill{*held}} : std::vector<Effect>{});
    }
  }
}

TEST(Lease, IsNotChangedByTheLossOfAnotherAgent) {
  for (const State& state : states) {
    const Step next = step(state, AgentLost{b});
    EXPECT_EQ(next.next, state) << to_text(state);
    EXPECT_TRUE(next.effects.empty()) << to_text(state);
  }
}

TEST(Lease, GrowsItsEpochWithEveryPlaceAndOnlyThen) {
  for (const State& state : states) {
    for (const Event& event : all_news()) {
      const bool placed = std::holds_alternative<Place>(event) && std::holds_alternative<Queued>(state.stage);
      EXPECT_EQ(step(state, event).next.epoch.value, state.epoch.value + placed) << to_text(state) << to_text(event);
    }
  }
}

/// A master, three agents that really start, stop and kill processes, and a network between them that loses, doubles,
/// delays and reorders.
class World {
 public:
  explicit World(Dice& dice) : dice_(dice) {}

  void do_something() {
    switch (dice_.below(10)) {
      case 0: return decide();
      case 1: return tell_master(AgentLost{any_agent()});
      case 2: return hello(any_agent());
      case 3: return end_a_process();
      case 4: return dice_.percent(20) ? reboot(any_agent()) : deliver_one();
      default: return deliver_one();
    }
  }

  /// The network heals: everything arrives, and every agent says what it runs, until nothing is left to say.
  void settle() {
    lossy_ = false;
    for (int round = 0; round < 6; ++round) {
      while (!to_agents_.empty() || !to_master_.empty()) deliver_one();
      for (const AgentId& agent : names_) hello(agent);
    }
    while (!to_agents_.empty() || !to_master_.empty()) deliver_one();
  }

  const State& state() const { return state_; }
  std::vector<Held> processes() const {
    std::vector<Held> all;
    for (const auto& [agent, one] : agents_) all.insert(all.end(), one.processes.begin(), one.processes.end());
    return all;
  }
  const std::string& history() const { return history_; }

 private:
  struct Agent {
    std::vector<Held> processes;
    Epoch newest;             ///< of what it was told to start
    std::vector<Held> ended;  ///< exits it tells again whenever it says hello
  };

  AgentId any_agent() { return names_[dice_.below(names_.size())]; }

  void decide() {
    const bool stops = dice_.percent(30);
    if (std::holds_alternative<Queued>(state_.stage))
      tell_master(Place{any_agent()});
    else if (std::holds_alternative<Ended>(state_.stage))
      tell_master(Again{});
    else if (stops)
      tell_master(Stop{Reason::preempted});
  }

  void tell_master(const Event& event) {
    const Step next = step(state_, event);
    history_ += to_text(event) + " -> " + to_text(next.next) + "\n";
    EXPECT_GE(next.next.epoch, state_.epoch);
    state_ = next.next;
    for (const Effect& effect : next.effects) {
      history_ += "    " + to_text(effect) + "\n";
      if (const auto* start = std::get_if<SendStart>(&effect)) {
        const auto [at, is_new] = given_.emplace(start->held.epoch, start->held.agent);
        EXPECT_EQ(at->second, start->held.agent) << "one epoch is never given to two agents";
        EXPECT_TRUE(!is_new || given_.rbegin()->first == start->held.epoch) << "new epochs are larger than all before";
      }
      send(to_agents_, effect);
    }
    expect_one_holder();
  }

  void expect_one_holder() {
    const std::vector<Held> all = processes();
    const std::optional<Held> now = current(state_);
    EXPECT_LE(now ? std::count(all.begin(), all.end(), *now) : 0, 1) << "two processes hold the lease";
  }

  template <class Messages, class Message>
  void send(Messages& messages, const Message& message) {
    if (lossy_ && dice_.percent(20)) return;
    messages.push_back(message);
    if (lossy_ && dice_.percent(20)) messages.push_back(message);
  }

  template <class Messages>
  auto take(Messages& messages) {
    const std::size_t at = dice_.percent(70) ? 0 : dice_.below(messages.size());
    auto message = messages[at];
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at));
    return message;
  }

  void deliver_one() {
    const bool to_agent = !to_agents_.empty() && (to_master_.empty() || dice_.percent(50));
    if (to_agent)
      perform(take(to_agents_));
    else if (!to_master_.empty())
      tell_master(take(to_master_));
  }

  void perform(const Effect& effect) {
    std::visit(overloaded{
                   [&](const SendStart& order) {
                     Agent& agent = agents_[order.held.agent];
                     if (order.held.epoch <= agent.newest) return;  // it was told before, or is too late
                     agent.newest = order.held.epoch;
                     agent.processes.push_back(order.held);
                     send(to_master_, Event(Started{order.held}));
                   },
                   [&](const SendStop& order) {
                     end(order.held, {Reason::signalled, 15});
                   },
                   [&](const SendKill& order) {
                     end(order.held, {Reason::signalled, 9});
                   },
               },
               effect);
    expect_one_holder();
  }

  void end(const Held& held, const Ending& ending) {
    Agent& agent = agents_[held.agent];
    if (std::erase(agent.processes, held) == 0) return;
    agent.ended.push_back(held);
    send(to_master_, Event(Exited{held, ending}));
  }

  void end_a_process() {
    const std::vector<Held> all = processes();
    if (!all.empty()) end(all[dice_.below(all.size())], {Reason::exited, 0});
  }

  /// A host goes down and comes up again: nobody tells anything, and it remembers nothing.
  void reboot(const AgentId& name) { agents_[name] = {}; }

  /// The agent says all it runs; what the master has there and did not hear of is not reported.
  void hello(const AgentId& name) {
    const Agent& agent = agents_[name];
    for (const Held& held : agent.ended) send(to_master_, Event(Exited{held, {}}));
    for (const Held& held : agent.processes) send(to_master_, Event(Reported{held}));
    std::optional<Held> expected = current(state_);
    if (!expected) expected = lost_of(state_);
    if (!expected || expected->agent != name) return;
    const bool known = std::count(agent.processes.begin(), agent.processes.end(), *expected) +
                           std::count(agent.ended.begin(), agent.ended.end(), *expected) >
                       0;
    if (!known) send(to_master_, Event(NotReported{*expected}));
  }

  Dice& dice_;
  bool lossy_ = true;
  std::vector<AgentId> names_ = {AgentId("a"), AgentId("b"), AgentId("c")};
  State state_;
  std::map<AgentId, Agent> agents_;
  std::map<Epoch, AgentId> given_;
  std::vector<Effect> to_agents_;
  std::vector<Event> to_master_;
  std::string history_;
};

TEST(Lease, LeavesOneProcessAtMostWhateverTheOrderOfNews) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    World world(dice);
    for (std::int64_t steps = dice.between(1, 120); steps > 0; --steps) world.do_something();
    world.settle();
    const std::optional<Held> now = current(world.state());
    EXPECT_EQ(world.processes(), now ? std::vector<Held>{*now} : std::vector<Held>{}) << world.history();
    EXPECT_TRUE(!now || std::holds_alternative<Running>(world.state().stage)) << world.history();
  });
}

TEST(Lease, IsTakenBackAndGivenAnewInThoseHistories) {
  int taken_back = 0;
  int killed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Dice dice(seed);
    World world(dice);
    for (int i = 0; i < 120; ++i) world.do_something();
    taken_back += world.history().find("queued, lost") != std::string::npos &&
                  world.history().find("reported ") != std::string::npos;
    killed += world.history().find("    kill ") != std::string::npos;
  }
  EXPECT_GT(taken_back, 50) << "the histories above hardly try what they are for";
  EXPECT_GT(killed, 50);
}

}  // namespace
}  // namespace cadre::cluster::lease
