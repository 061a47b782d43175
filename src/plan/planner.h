/// The planner: knows the agents and gangs of one pool, and decides who runs where. Pure: no I/O, no clock; the same
/// calls give the same plans. One thread at a time.
///
/// Its indexes live between calls; a planner built anew from snapshot() decides the same (a property test holds that).
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/provision.h"
#include "plan/state.h"

namespace cadre::plan {

/// Where and since when a gang runs.
struct Running {
  Places on;
  TimePoint since;
  TimePoint saved;  ///< when its work was last safe: the last checkpoint, or the start
  bool stopping = false;
};

/// Agents that earlier plans held for a gang that waits.
struct Hold {
  std::vector<AgentId> agents;
  TimePoint since;
  Duration patience{};  ///< after which others are tried
};

/// One gang in a snapshot: queued, unless `running` is set.
struct GangStatus {
  Gang gang;
  TimePoint queued_since;
  std::optional<Running> running;
  std::optional<Hold> hold;
};

struct Snapshot {
  Policy policy;
  Groups groups;
  Accounts accounts;
  std::vector<Agent> agents;
  std::vector<GangStatus> gangs;  ///< in the order of submission
  TimePoint now;
};

class Planner {
 public:
  explicit Planner(const Policy& policy, Groups groups = {}, Accounts accounts = {});
  explicit Planner(const Snapshot& snapshot);

  void put_agent(const Agent& agent);
  /// Forgets an agent; the gangs on it must have ended first.
  void remove_agent(const AgentId& id);
  /// Whether a gang runs or stops on it.
  bool is_occupied(const AgentId& id) const;

  /// Sets, changes or removes the limit of an account. It binds from the next plan on; nobody is stopped for it.
  void set_account(const AccountId& id, std::optional<std::int64_t> max_slots);
  /// Sets weight and limit of a group, of its gangs that are there and of those to come. It binds from the next plan
  /// on.
  void set_group(const GroupId& id, const Group& settings);
  /// Its gangs hold so many slots in other pools. Whether that leaves it more room here than before.
  bool set_elsewhere(const AccountId& id, std::int64_t slots);
  /// Accounts with a limit that have gangs here.
  std::vector<AccountId> limited_accounts() const;
  /// The limit of an account, if it has one.
  std::optional<std::int64_t> quota_of(const AccountId& id) const;
  /// Slots that the gangs of an account hold here, those that stop included.
  std::int64_t held_by(const AccountId& id) const;

  /// Queues a gang whose name is not in use. Its submission counts from the first time; see requeue.
  void submit(const Gang& gang, TimePoint now, const std::optional<Hold>& hold = {});
  /// Takes over a gang that runs already.
  void adopt(const Gang& gang, const Running& running);
  /// A running gang was told to stop.
  void stopping(const GangId& id);
  /// A running gang saved its work.
  void saved(const GangId& id, TimePoint now);
  /// A running gang has ended, but wants to run again: it keeps its place in the order of submission.
  void requeue(const GangId& id, TimePoint now);
  /// A queued gang runs after all: its agent came back with it.
  void resume(const GangId& id, const Running& running);
  /// Gives a gang another priority and position, whether it waits, runs or stops.
  void reorder(const GangId& id, std::int32_t priority, double position);
  /// A gang has ended or was withdrawn.
  void remove(const GangId& id);

  /// A limit that is set or removed, and the first agent that is reserved for an account, concern gangs that wait. They
  /// are looked at by plan(), or before it, some at a time: then no call takes long. Whether none is left.
  bool prepare(std::size_t gangs_most) { return state_.sort(gangs_most); }
  /// Decides, and takes its own decisions as carried out: started gangs run, preempted ones are stopping.
  Plan plan(TimePoint now);

  /// Why the gang waits, runs where it runs, or was stopped; for somebody who may know of these gangs by name.
  std::string why(const GangId& id, const std::function<bool(const GangId&)>& may_name) const;
  /// For somebody who may know of all.
  std::string why(const GangId& id) const;
  /// The gang for which this one was told to stop by the last plan; with an empty name: its group holds too much.
  std::optional<GangId> preempted_for(const GangId& id) const;

  std::size_t queued() const { return state_.queue.size(); }
  /// All of them, queued or not.
  std::size_t gangs() const { return state_.by_id.size(); }
  /// What the queue asks for, by slots and limits, for who provides agents; who is furthest ahead comes first.
  std::vector<QueuedDemand> queued_demand() const;
  Snapshot snapshot(TimePoint now) const;

 private:
  std::uint32_t add(const Gang& gang, TimePoint since);
  std::uint32_t index_of(const GangId& id) const;
  void join_group(GangRow& row);
  void join_accounts(GangRow& row);
  void run(std::uint32_t gang, const Running& running);

  Policy policy_;
  Groups groups_;
  Accounts accounts_;
  State state_;
  std::uint64_t submissions_ = 0;
  std::vector<std::uint32_t> vacant_;
};

/// The plain version: one function of everything.
Plan plan(const Snapshot& snapshot);

}  // namespace cadre::plan
