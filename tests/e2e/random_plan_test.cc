#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/seeds.h"
#include "describe/random.h"
#include "plan/plan_file.h"
#include "tests/e2e/plan_checker.h"
#include "tests/e2e/process.h"

namespace cadre::e2e {
namespace {

using plan::Agent;
using plan::AgentId;
using plan::GangEntry;
using plan::PlanAnswer;
using plan::PlanFile;
using plan::RoleEntry;

constexpr int seeds = 20;
constexpr int files_per_seed = 100;

/// Makes a random file one that could be true: names of its own for everything, sizes that compete, and everything that
/// runs somewhere runs where there is room.
class Repair {
 public:
  Repair(PlanFile& file, Dice& dice) : file_(file), dice_(dice) {}

  void run() {
    for (int i = static_cast<int>(dice_.below(10)); i > 0; --i) {
      file_.agents.push_back(describe::random_value<Agent>(dice_));
    }
    for (int i = static_cast<int>(dice_.below(15)); i > 0; --i) {
      file_.gangs.push_back(describe::random_value<GangEntry>(dice_));
    }
    for (const auto& [group, settings] : file_.groups) groups_.push_back(group);
    groups_.push_back({});
    for (int i = static_cast<int>(dice_.below(3)); i > 0; --i) {
      file_.accounts[plan::AccountId("user " + std::to_string(i))] = describe::random_value<plan::Account>(dice_);
    }
    for (auto& [id, account] : file_.accounts) {
      accounts_.push_back(id);
      if (account.max_slots) account.max_slots = dice_.between(0, 20);
      if (account.elsewhere > 0) account.elsewhere = dice_.between(0, 6);
    }
    for (std::size_t i = 0; i < file_.agents.size(); ++i) shape(file_.agents[i], i);
    room_ = file_.agents;
    for (std::size_t i = 0; i < file_.gangs.size(); ++i) shape(file_.gangs[i], i);
    for (auto& [group, settings] : file_.groups) {
      if (settings.max_slots) settings.max_slots = dice_.between(0, 20);
    }
  }

 private:
  void shape(Agent& agent, std::size_t at) {
    agent.id.value += "#" + std::to_string(at);
    agent.slots = static_cast<std::int32_t>(dice_.percent(60) ? 4 : dice_.between(0, 8));
    agent.cpus.milli = dice_.between(0, 16'000);
    agent.memory.value = dice_.between(0, 1'000);
    agent.enabled = dice_.percent(90);
    agent.draining = dice_.percent(10);
    if (dice_.percent(50)) agent.labels["site"] = dice_.percent(50) ? "north" : "south";
  }

  void shape(GangEntry& gang, std::size_t at) {
    gang.id.value += "#" + std::to_string(at);
    gang.group = groups_[dice_.below(groups_.size())];
    gang.accounts.clear();
    for (int i = static_cast<int>(accounts_.empty() ? 0 : dice_.below(3)); i > 0; --i) {
      gang.accounts.push_back(accounts_[dice_.below(accounts_.size())]);
    }
    gang.priority = static_cast<std::int32_t>(dice_.between(40, 43));
    if (gang.hold) {
      gang.hold->agents.clear();
      if (!file_.agents.empty()) gang.hold->agents.push_back(any_agent().id);
      if (gang.hold->agents.empty()) gang.hold.reset();
    }
    gang.exclude.clear();
    gang.selector.clear();
    if (!file_.agents.empty() && dice_.percent(10)) gang.exclude.push_back(any_agent().id);
    if (dice_.percent(10)) gang.selector["site"] = "north";
    if (dice_.percent(50)) gang.waited = std::chrono::minutes(dice_.between(0, 20));
    if (dice_.percent(80)) gang.slot_kind.reset();
    if (dice_.percent(25)) give_members(gang);
    shrink(gang.cpus, gang.memory);
    if (gang.slots) gang.slots = static_cast<std::int32_t>(dice_.between(0, dice_.percent(80) ? 6 : 20));
    for (std::size_t i = 0; i < gang.members.size(); ++i) shape(gang.members[i], i);
    const bool runs = dice_.percent(gang.members.empty() ? 40 : 60) && !file_.agents.empty();
    gang.running_on.clear();
    if (runs && gang.members.empty()) run_whole(gang);
    if (runs && !gang.members.empty()) run_roles(gang);
    gang.stopping = gang.runs() && dice_.percent(20);
    if (gang.runs()) gang.hold.reset();
  }

  /// What is drawn seldom has any.
  void give_members(GangEntry& gang) {
    gang.slots.reset();
    gang.slot_kind.reset();
    gang.cpus = {};
    gang.memory = {};
    gang.single_agent = gang.uneven = false;
    for (std::int64_t i = dice_.between(1, 3); i > 0; --i) {
      gang.members.push_back(describe::random_value<RoleEntry>(dice_));
    }
  }

  void shape(RoleEntry& role, std::size_t at) {
    role.role += "#" + std::to_string(at);
    role.count = static_cast<std::int32_t>(dice_.between(1, 5));
    role.slots = static_cast<std::int32_t>(dice_.between(0, 3));
    if (dice_.percent(80)) role.slot_kind.reset();
    if (dice_.percent(50)) role.elastic.emplace();
    if (role.elastic) role.elastic->min = static_cast<std::int32_t>(dice_.between(at == 0 ? 1 : 0, role.count));
    role.running_on.clear();
    shrink(role.cpus, role.memory);
  }

  /// Gangs of members say these of each role.
  void shrink(plan::Cpus& cpus, ByteSize& memory) {
    cpus.milli = cpus.milli == 0 ? 0 : dice_.between(0, 4'000);
    memory.value = memory.value == 0 ? 0 : dice_.between(0, 300);
  }

  const Agent& any_agent() { return room_.empty() ? file_.agents[dice_.below(file_.agents.size())] : any_room(); }
  Agent& any_room() { return room_[dice_.below(room_.size())]; }

  /// Takes so much of an agent, if it has it.
  static bool take(Agent& room, std::int32_t slots, const std::optional<plan::SlotKind>& kind, plan::Cpus cpus,
                   ByteSize memory) {
    const std::int64_t milli = cpus.milli + (room.slot_kind == plan::SlotKind::cpu ? slots * std::int64_t{1000} : 0);
    if (slots > room.slots || milli > room.cpus.milli || memory.value > room.memory.value) return false;
    if (kind && *kind != room.slot_kind) return false;
    room.slots -= slots;
    room.cpus.milli -= milli;
    room.memory.value -= memory.value;
    return true;
  }

  void run_whole(GangEntry& gang) {
    Agent& room = any_room();
    if (take(room, *gang.slots, gang.slot_kind, gang.cpus, gang.memory)) gang.running_on[room.id] = *gang.slots;
  }

  void run_roles(GangEntry& gang) {
    const std::vector<Agent> before = room_;
    for (RoleEntry& role : gang.members) {
      const std::int32_t least = role.elastic ? role.elastic->min : role.count;
      for (std::int32_t task = 0; task < least; ++task) {
        const auto room = std::find_if(room_.begin(), room_.end(), [&](Agent& agent) {
          return take(agent, role.slots, role.slot_kind, role.cpus, role.memory);
        });
        if (room != room_.end()) {
          ++role.running_on[room->id];
          continue;
        }
        for (RoleEntry& other : gang.members) other.running_on.clear();
        room_ = before;
        return;
      }
    }
  }

  PlanFile& file_;
  Dice& dice_;
  std::vector<Agent> room_;
  std::vector<plan::GroupId> groups_;
  std::vector<plan::AccountId> accounts_;
};

PlanFile random_plan_file(Dice& dice) {
  PlanFile file = describe::random_value<PlanFile>(dice);
  Repair(file, dice).run();
  return file;
}

void for_random_files(PlanFile (*make)(Dice&), void (*check)(const PlanFile&, const std::string& text)) {
  FOR_SEEDS(seeds, [&](Dice& dice) {
    for (int i = 0; i < files_per_seed && !testing::Test::HasFailure(); ++i) {
      const PlanFile file = make(dice);
      check(file, describe::write_json(file));
    }
  });
}

TEST(Breaches, AreFoundInATamperedAnswer) {
  const auto file = plan::read_plan_file(R"(
groups: {team: {max_slots: 4}}
accounts: {user ann: {max_slots: 4, elsewhere: 1}}
agents:
  - {id: a1, slots: 4, cpus: 1, memory: 1GiB}
  - {id: a2, slots: 4, draining: true}
gangs:
  - {id: runs, slots: 2, running_on: {a1: 2}, preemptible: false}
  - {id: x, slots: 2, cpus: 1, memory: 1GiB, group: team, accounts: [user ann]}
)");
  ASSERT_TRUE(file);
  const PlanAnswer good = plan::answer(*file);
  EXPECT_EQ(breaches(*file, good), std::vector<std::string>{});
  const auto tampered = [&](void (*tamper)(PlanAnswer&, PlanFile&)) {
    PlanFile changed = *file;
    PlanAnswer answer = good;
    tamper(answer, changed);
    return breaches(changed, answer).size();
  };
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile&) { a.start[0].on = {{AgentId("a1"), 1}}; }), 0u) << "by halves";
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile&) { a.start[0].on = {{AgentId("a2"), 2}}; }), 0u) << "a draining agent";
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile&) { a.start.push_back(a.start[0]); }), 0u) << "twice";
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile& f) {
              a.start.clear();
              f.groups.clear();
              f.accounts.clear();
            }),
            0u)
      << "the head of the queue is left out";
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile&) { a.preempt = {plan::GangId("runs")}; }), 0u) << "not preemptible";
  EXPECT_GT(tampered([](PlanAnswer& a, PlanFile&) { a.why.clear(); }), 0u) << "no reasons";
  EXPECT_GT(tampered([](PlanAnswer&, PlanFile& f) { f.agents[0].slots = 3; }), 0u) << "too few slots";
  EXPECT_GT(tampered([](PlanAnswer&, PlanFile& f) { f.agents[0].cpus.milli = 999; }), 0u) << "too few cpus";
  EXPECT_GT(tampered([](PlanAnswer&, PlanFile& f) { --f.agents[0].memory.value; }), 0u) << "a byte too much";
  EXPECT_GT(tampered([](PlanAnswer&, PlanFile& f) { f.groups.begin()->second.max_slots = 1; }), 0u) << "a limit";
  EXPECT_GT(tampered([](PlanAnswer&, PlanFile& f) { f.accounts.begin()->second.elsewhere = 3; }), 0u) << "a quota";
}

TEST(RandomPlanFile, IsAnsweredWithoutABreach) {
  for_random_files(random_plan_file, [](const PlanFile& file, const std::string& text) {
    EXPECT_EQ(breaches(file, plan::answer(file)), std::vector<std::string>{}) << text;
  });
}

TEST(RandomPlanFile, IsTheSameAfterItWasWrittenAndRead) {
  for_random_files(random_plan_file, [](const PlanFile&, const std::string& text) {
    const auto read = plan::read_plan_file(text);
    ASSERT_TRUE(read) << describe::to_text(read.error(), "file") << text;
    EXPECT_EQ(describe::write_json(*read), text);
  });
}

TEST(RandomPlanFile, IsAnsweredTheSameAfterItBecameAStateOfTheCluster) {
  for_random_files(random_plan_file, [](const PlanFile& file, const std::string& text) {
    const PlanFile again = plan::to_plan_file(plan::to_snapshot(file));
    EXPECT_EQ(describe::write_json(plan::answer(again)), describe::write_json(plan::answer(file))) << text;
  });
}

TEST(RawRandomPlanFile, IsReadOrRefusedButNeverBelieved) {
  for_random_files(describe::random_value<PlanFile>, [](const PlanFile&, const std::string& text) {
    const auto read = plan::read_plan_file(text);
    if (read) {
      EXPECT_EQ(breaches(*read, plan::answer(*read)), std::vector<std::string>{}) << text;
    } else {
      EXPECT_FALSE(read.error().empty());
    }
  });
}

TEST(DamagedPlanFile, IsReadOrRefusedButNeverBelieved) {
  FOR_SEEDS(seeds, [](Dice& dice) {
    for (int i = 0; i < files_per_seed; ++i) {
      std::string text = describe::write_json(random_plan_file(dice));
      for (std::int64_t damages = dice.between(1, 4); damages > 0; --damages) {
        const std::size_t at = dice.below(text.size());
        if (dice.percent(30))
          text.erase(at, dice.below(10));
        else if (dice.percent(50))
          text[at] = static_cast<char>(dice.between(32, 126));
        else
          text.insert(at, std::to_string(dice.between(-1'000'000'000'000, 1'000'000'000'000)));
      }
      const auto read = plan::read_plan_file(text);
      if (!read) continue;
      EXPECT_EQ(breaches(*read, plan::answer(*read)), std::vector<std::string>{}) << text;
    }
  });
}

TEST(RandomPlanFile, IsAnsweredByTheProgramAsByTheLibrary) {
  FOR_SEEDS(10, [](Dice& dice) {
    const PlanFile file = random_plan_file(dice);
    const Said said = run_cadre({"plan", "--json", "-"}, describe::write_json(file));
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.out, describe::write_json(plan::answer(file)) + "\n");
  });
}

TEST(RandomPlanFiles, ExerciseAllKindsOfDecisions) {
  std::size_t starts = 0;
  std::size_t divided = 0;
  std::size_t grown = 0;
  std::size_t preempted = 0;
  std::size_t held = 0;
  Dice dice(1);
  for (int i = 0; i < 1'000; ++i) {
    const PlanAnswer answer = plan::answer(random_plan_file(dice));
    starts += answer.start.size();
    divided += std::any_of(answer.start.begin(), answer.start.end(), [](const auto& s) { return s.on.size() > 1; });
    grown += answer.grow ? answer.grow->size() : 0;
    preempted += answer.preempt.size();
    held += answer.reserve.size();
  }
  EXPECT_GT(starts, 500u);
  EXPECT_GT(divided, 50u);
  EXPECT_GT(grown, 20u);
  EXPECT_GT(preempted, 50u);
  EXPECT_GT(held, 200u);
}

}  // namespace
}  // namespace cadre::e2e
