/// The books of all agents: what each has left, now and soon, with indexes to find room quickly. One thread at a time.
///
/// Two views. `now` is what may be given out at once. `soon` is what will be free when everything that is stopping has
/// ended. A claim sets some of what is soon free aside for one gang; nothing is given out now that would eat into it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/agent.h"
#include "plan/agent_set.h"
#include "plan/gang.h"

namespace cadre::plan {

enum class View : std::uint8_t { now, soon };

/// How many slots this much room could give to one task of the request, at most its `slots`; -1 if it cannot hold it.
inline std::int64_t slots_within(const Amount& room, SlotKind kind, const Request& request) {
  if (request.cpus.milli > room.cpus_milli || request.memory.value > room.memory_bytes || room.slots < 0) return -1;
  if (request.slots == 0 && room.slotless_tasks < 1) return -1;
  if (request.slot_kind && *request.slot_kind != kind) return -1;
  const std::int64_t slots = std::min<std::int64_t>(request.slots, room.slots);
  return kind == SlotKind::cpu ? std::min(slots, (room.cpus_milli - request.cpus.milli) / 1000) : slots;
}

class Books {
 public:
  explicit Books(std::int32_t slotless_tasks_max) : slotless_tasks_max_(slotless_tasks_max) {}

  /// Adds an agent, or takes over its new settings and sizes. What runs on it stays in the books.
  std::uint32_t put(const Agent& agent);
  /// Forgets an agent on which nothing runs any more.
  void remove(std::uint32_t agent);

  std::optional<std::uint32_t> find(const AgentId& id) const;
  bool empty() const { return by_id_.empty(); }
  /// All of them, in the order of their indexes.
  std::vector<Agent> agents() const;
  const Agent& agent(std::uint32_t agent) const { return rows_[agent].agent; }
  bool takes_work(std::uint32_t agent) const { return listed_.contains(agent); }
  const Amount& capacity(std::uint32_t agent) const { return capacity_[agent]; }
  const Amount& left(std::uint32_t agent, View view) const { return left_[static_cast<int>(view)][agent]; }

  /// The most slots that are soon left for anybody: what may be preempted is not counted as taken.
  std::int64_t reach(std::uint32_t agent) const { return reach_[agent]; }

  /// A name as all but its last letter, by number, and that letter: many agents differ in the last letter only, and
  /// their hashes are then one step apart.
  struct Tail {
    std::uint32_t stem = 0;
    char last = 0;
  };
  Tail tail(std::uint32_t agent) const { return tails_[agent]; }
  const std::string& stem(std::uint32_t number) const { return stems_[number]; }

  /// What some tasks of one request use on this agent.
  Amount cost(std::uint32_t agent, const Request& request, std::int32_t tasks, std::int32_t slots) const;
  /// How many slots it could give to one task of this request, at most its `slots`; -1 if it cannot hold the task.
  std::int64_t slots_for(std::uint32_t agent, const Request& request, View view) const {
    return slots_within(left(agent, view), kind_[agent], request);
  }
  /// The same if so much more were left.
  std::int64_t slots_with(std::uint32_t agent, const Request& request, View view, const Amount& more) const {
    Amount room = left(agent, view);
    room += more;
    return slots_within(room, kind_[agent], request);
  }
  /// The same if nothing ran on it.
  std::int64_t slots_when_empty(std::uint32_t agent, const Request& request) const;

  void start(std::uint32_t agent, const Amount& amount) { change(agent, {-1, -1, 0}, amount); }
  void cancel_start(std::uint32_t agent, const Amount& amount) { change(agent, {1, 1, 0}, amount); }
  void begin_stop(std::uint32_t agent, const Amount& amount) { change(agent, {0, 1, 0}, amount); }
  void cancel_stop(std::uint32_t agent, const Amount& amount) { change(agent, {0, -1, 0}, amount); }
  void end_running(std::uint32_t agent, const Amount& amount) { change(agent, {1, 1, 0}, amount); }
  void end_stopping(std::uint32_t agent, const Amount& amount) { change(agent, {1, 0, 0}, amount); }
  /// So many more slots of an agent are held by gangs that run there and may be preempted.
  void lend(std::uint32_t agent, std::int64_t slots) { extend(agent, slots); }
  void claim(std::uint32_t agent, const Amount& amount);
  /// Drops all claims; the agents on which there were any.
  std::vector<std::uint32_t> drop_claims();

  /// Some of the sets may be empty.
  using BySlots = std::map<std::int64_t, AgentSet>;
  /// Agents that take work, by the slots left.
  const BySlots& by_left(View view) const { return by_left_[static_cast<int>(view)]; }
  /// Agents that take work, by the slots soon left if all that may be preempted had stopped.
  const BySlots& by_reach() const { return by_reach_; }
  /// Agents that take work and have no slot in use, by size.
  const BySlots& idle(View view) const { return idle_[static_cast<int>(view)]; }
  /// Agents that take work, by size; none of these sets is empty.
  const BySlots& by_size() const { return by_size_; }
  /// All slots of the agents that take work.
  std::int64_t slots_in_all() const { return slots_in_all_; }
  /// Grows when there are agents of a size of which there were none.
  std::uint64_t sizes_version() const { return sizes_version_; }
  /// Whether agents are reserved for some account, or for this one.
  bool has_reserved() const { return !reserved_for_.empty(); }
  bool has_reserved(const AccountId& account) const { return reserved_for_.contains(account); }
  /// Grows with every change to an agent's settings.
  std::uint64_t agents_version() const { return agents_version_; }

 private:
  struct Row {
    Agent agent;
    Amount unused[2];  ///< capacity less what runs (now), and less what runs and is not stopping (soon)
    Amount claimed;
  };
  struct Signs {
    int now;
    int soon;
    int claimed;
  };

  void change(std::uint32_t agent, Signs signs, const Amount& amount);
  void refresh(std::uint32_t agent);
  /// Changes its reach.
  void extend(std::uint32_t agent, std::int64_t slots);
  Tail make_tail(const std::string& name);
  /// One more, or one less, agent is reserved for an account, if it is for any.
  void count_reserved(const Agent& agent, std::int32_t sign);
  void list(std::uint32_t agent);
  void unlist(std::uint32_t agent);

  std::int32_t slotless_tasks_max_;
  std::vector<Row> rows_;
  // What searches look at, each close together.
  std::vector<Amount> left_[2];  ///< what the indexes know: unused less claims
  std::vector<Amount> capacity_;
  std::vector<SlotKind> kind_;
  std::vector<Tail> tails_;
  std::vector<std::string> stems_;
  std::unordered_map<std::string, std::uint32_t> stem_numbers_;
  std::vector<std::uint32_t> vacant_;
  std::vector<std::uint32_t> with_claims_;
  std::unordered_map<AgentId, std::uint32_t> by_id_;
  std::vector<std::int64_t> reach_;
  AgentSet listed_;  ///< agents that take work
  BySlots by_left_[2];
  BySlots by_reach_;
  BySlots idle_[2];
  BySlots by_size_;
  std::int64_t slots_in_all_ = 0;
  std::map<AccountId, std::int32_t> reserved_for_;  ///< number of agents
  std::uint64_t sizes_version_ = 0;
  std::uint64_t agents_version_ = 0;
};

}  // namespace cadre::plan
