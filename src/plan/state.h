/// Everything planning knows: agents, gangs, groups, and the indexes over them. Only Planner changes it from outside;
/// the policies walk over it. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "plan/books.h"
#include "plan/group_row.h"
#include "plan/queue.h"

namespace cadre::plan {

enum class Stage : std::uint8_t { vacant, queued, running, stopping };

/// Agents held for a gang from plan to plan.
struct Holding {
  std::vector<std::uint32_t> agents;
  TimePoint since;
  Duration patience{};
};

/// Whom to stop first: the least important, then who loses least work, then the newest.
struct Loss {
  std::int32_t priority = 0;
  TimePoint saved;
  TimePoint since;
  std::uint64_t submission = 0;
  std::uint32_t gang = 0;
  auto operator<=>(const Loss& other) const {
    return std::tie(other.priority, other.saved, other.since, other.submission) <=>
           std::tie(priority, saved, since, submission);
  }
  bool operator==(const Loss&) const = default;
};

struct GangRow {
  Gang gang;
  GroupRow* group = nullptr;             ///< a named one, or one of its own
  std::size_t in_group = 0;              ///< among its members
  std::vector<AccountRow*> accounts;     ///< in the order of their names
  std::vector<std::size_t> in_accounts;  ///< among the members of each
  Order order;
  Stage stage = Stage::vacant;
  std::multiset<std::uint64_t>::iterator in_submissions;  ///< of its group
  Queue::Place in_queue;                                  ///< while it is queued
  std::size_t in_running = 0;                             ///< of its group, while it runs or stops
  std::set<Order>::iterator in_evictable;                 ///< while it runs and may be preempted, as the next
  std::set<Loss>::iterator in_losses;
  Parts parts;                          ///< where it runs
  std::int64_t slots = 0;               ///< that it holds
  TimePoint since;                      ///< queued, or started
  TimePoint saved;                      ///< when its work was last safe: the last checkpoint, or the start
  Holding held;                         ///< if the last plan reserved agents for it
  bool placed_by_plan = false;          ///< the planner itself chose where it runs
  Cause cause = Cause::not_planned;     ///< if the last plan noted one for it alone
  std::vector<std::uint32_t> reserved;  ///< agents held for it by the last plan
  std::vector<GangId> others;           ///< whom it preempts or awaits; who preempted it

  /// That bind it as things are.
  Limits limits() const;
  /// Its accounts for which agents are reserved.
  Owners owners(const Books& books) const;
};

/// Something on an agent will come free.
struct Release {
  std::uint32_t agent = 0;
  bool was_evictable = false;  ///< gangs ahead of `order` could have had it before
  Order order;
};

/// A gang on one agent.
struct Presence {
  Order order;
  Amount held;
  bool evictable = false;
};

/// An array over agents that is cleared in no time, for sums made in passing.
class AgentSums {
 public:
  /// All sums are zero.
  void clear(std::size_t agents) {
    if (rows_.size() < agents) rows_.resize(agents);
    ++round_;
  }
  Amount& at(std::uint32_t agent) {
    Row& row = rows_[agent];
    if (row.round != round_) row = {{}, round_};
    return row.sum;
  }

 private:
  struct Row {
    Amount sum;
    std::uint64_t round = 0;
  };
  std::vector<Row> rows_;
  std::uint64_t round_ = 0;
};

inline Loss loss_of(const GangRow& row) {
  return {row.gang.priority, row.saved, row.since, row.order.submission, row.order.gang};
}

/// Not noexcept, so that the table keeps the hashes: it then need not look at the names of a gang's neighbours.
struct GangIdHash {
  std::size_t operator()(const GangId& id) const { return std::hash<GangId>{}(id); }
};

struct State {
  explicit State(std::int32_t slotless_tasks_max) : books(slotless_tasks_max) {}

  Books books;
  Queue queue;
  std::vector<GangRow> gangs;
  std::unordered_map<GangId, std::uint32_t, GangIdHash> by_id;
  std::map<std::string, GroupRow> groups;  ///< by key
  std::map<AccountId, AccountRow> accounts;
  std::set<Order> evictable;  ///< gangs that run and may be preempted
  std::set<Loss> losses;      ///< the same, in the order in which they are stopped
  std::set<Order> growing;    ///< gangs that run with fewer elastic tasks than they want
  std::set<Order> stopping;
  std::set<std::uint32_t> holders;              ///< gangs for which agents are held
  std::vector<std::uint32_t> noted;             ///< gangs of which the last plan noted something of their own
  std::vector<std::vector<Presence>> on_agent;  ///< what runs or stops on each agent
  AgentSums sums;
  std::vector<Release> released;         ///< as it happened
  std::uint64_t releases_forgotten = 0;  ///< entries dropped from the front of that list
  bool classes_by_group = false;         ///< every group binds (fair share), not only those with a limit
  /// By key of a limit: its gangs, of which those that wait may still be in a class that is no longer theirs.
  std::map<std::string, std::vector<std::uint32_t>> misplaced;

  /// Adds an agent, or takes over its new settings.
  void put_agent(const Agent& agent);
  /// Forgets an agent on which nothing runs any more.
  void remove_agent(std::uint32_t agent);
  /// Nobody holds this agent any more: it goes or changes.
  void stop_holding(std::uint32_t agent);
  /// Notes a release, so that who found no room looks again.
  void note_release(const Release& release);
  std::uint64_t releases() const { return releases_forgotten + released.size(); }

  /// Moves a gang from the queue to where it runs.
  void start(std::uint32_t gang, Parts parts, TimePoint now);
  /// Adds tasks to a running gang.
  void grow(std::uint32_t gang, const Parts& more);
  /// A running gang saved its work at this time.
  void save(std::uint32_t gang, TimePoint time);
  /// A running gang begins to stop: what it holds is free soon.
  void begin_stop(std::uint32_t gang);
  void enqueue(std::uint32_t gang);
  void dequeue(std::uint32_t gang);
  /// Ends a running or stopping gang and frees what it holds.
  void end(std::uint32_t gang);

  /// Notes why this one gang waits, and what is held for it.
  void note(std::uint32_t gang, Cause cause, std::vector<std::uint32_t> reserved, std::vector<GangId> others);
  /// Forgets what the last plan noted.
  void forget_notes();

  /// Sets, changes or removes a limit of these gangs; those that wait are to be sorted again.
  void set_limit(Limit& limit, const std::vector<std::uint32_t>& members, std::optional<std::int64_t> max_slots);
  /// Moves waiting gangs to the classes that are theirs now, after looking at so many; whether none is left to look at.
  bool sort(std::size_t most);
  /// Gives a gang another place in the order of all.
  void reorder(std::uint32_t gang, const Order& order);
  void join(std::uint32_t gang, GroupRow& group);
  void join(std::uint32_t gang, AccountRow& account);
  /// Of its group and all its accounts it is a member no longer.
  void leave_all(std::uint32_t gang);
  /// A gang holds so many more slots under its limits, whether they bind or not.
  static void hold(const GangRow& row, std::int64_t slots);
  /// Slots on agents that take work; those on others are nobody's to share.
  std::int64_t slots_that_count(const Parts& parts) const;
  /// A running gang holds so many more slots that count.
  static void count(const GangRow& row, std::int64_t slots);

  void stop_growing(const GangRow& row);
  void forget_evictable(const GangRow& row);
  void note_presence(const GangRow& row);
  void forget_presence(const GangRow& row);
  Presence* presence(std::uint32_t agent, std::uint32_t gang);

  /// Brings a class's set of allowed agents up to date; the filter for it, without what is barred.
  AgentSet::Filter filter_for(GangClass& one, const AgentSet* barred);
  bool admits(const GangClass& one, std::uint32_t agent) const;

 private:
  void add_admitted(AgentSet& admitted, const GangClass& one) const;
  /// Gangs of this account are to be sorted again if agents were reserved for it but are no longer, or the reverse.
  void note_reserved(const AccountId& account, bool had_agents);

  /// What classes that do not choose among agents are admitted to, if some agents are reserved: the same for many.
  std::map<std::vector<AccountId>, AgentSet> admitted_;
  std::uint64_t admitted_version_ = 0;  ///< of the agents for which it was worked out
};

}  // namespace cadre::plan
