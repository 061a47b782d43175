/// The planners of all pools, and what they know of agents and jobs. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/control/ledger.h"
#include "cluster/control/settings.h"
#include "plan/planner.h"

namespace cadre::cluster::control {

struct Pool {
  plan::Policy policy;
  plan::Groups groups;
  plan::Planner planner;
  plan::Planner ideal;  ///< the same agents, all of them there and idle: what could ever run
  bool changed = true;
  TimePoint planned;
  bool closed = false;  ///< it is configured no longer: what is left in it waits
  /// Since when limits that were set or removed keep it from planning.
  std::optional<TimePoint> prepared_since = std::nullopt;
};

class Pools {
 public:
  /// Has the configured pools, and those that are left in the ledger. Agents and jobs are put into them afterwards.
  Pools(const Settings& settings, Ledger& ledger, const Rows& rows, TimePoint now);

  std::map<std::string, Pool>& all() { return pools_; }
  const std::map<std::string, Pool>& all() const { return pools_; }
  /// In words, when there is no such pool.
  std::optional<std::string> missing(const std::string& name) const;
  bool is_closed(const Job& job) const { return pool_of(job).closed; }
  std::int64_t queued() const;
  /// Jobs that hold agents: running or stopping.
  std::int64_t placed() const;

  // Agents.
  /// The agent, or what it offers, has changed.
  void offer(const AgentEntry& agent);
  /// The same, at the next offer_due().
  void offer_later(const AgentId& id) { to_offer_.insert(id); }
  void offer_due();
  std::size_t to_offer() const { return to_offer_.size(); }
  void remove_agent(const std::string& pool, const AgentId& id);
  /// The user of the cluster that an agent runs for.
  const std::string& owner_of(const AgentEntry& agent) const;
  /// Whether a gang of its pool runs or stops on it.
  bool is_occupied(const AgentEntry& agent) const;
  /// Which agents take no jobs of its owner, in words that continue a sentence.
  std::string closed_words(const Job& job) const;

  // Jobs. A job is queued from submit() or requeue() on, and runs from adopt(), resume() or a plan on.
  void submit(const Job& job);
  void adopt(const Job& job);
  void stopping(const Job& job);
  void requeue(const Job& job);
  void resume(const Job& job);
  void remove(const Job& job);
  /// Its priority or position has changed.
  void reorder(const Job& job);
  /// Why not even an idle cluster could run it, as far as is known.
  std::optional<std::string> never_fits(const JobSpec& spec, const std::string& owner, TimePoint now);
  /// Why it could not even run alone under the quotas of its user and its workspace.
  std::optional<std::string> exceeds_quota(const JobSpec& spec, const std::string& user) const;
  /// Why it waits, or runs where it does; names only gangs that may be named.
  std::string why(const Job& job, const std::function<bool(const GangId&)>& may_name) const;
  /// For which job the last plan preempts it, in words; one of another workspace is not named.
  std::string preemption_words(const Job& job) const;

  // Limits.
  plan::Group group(const std::string& pool, const GroupId& id) const;
  void set_group(const std::string& pool, const GroupId& id, const plan::Group& settings);
  /// Most slots that the jobs of an account may hold together, over all pools; none: no limit.
  void set_quota(const AccountId& account, std::optional<std::int64_t> max_slots);
  /// Slots that its jobs hold, in all pools.
  std::int64_t held_by(const AccountId& account) const;
  /// Tells a pool what is held in the others under its limits. Whether that leaves more room in it than before.
  bool count_elsewhere(Pool& pool);

 private:
  Pool& pool_of(const Job& job) { return pools_.at(job.row.spec.pool); }
  const Pool& pool_of(const Job& job) const { return pools_.at(job.row.spec.pool); }
  /// Agents that take no jobs of this user, since they cannot keep tasks of several users apart.
  std::vector<AgentId> closed_to(const std::string& user, const std::string& pool) const;
  std::string closed_words(const std::vector<AgentId>& agents) const;

  const Settings& settings_;
  Ledger& ledger_;
  std::map<std::string, Pool> pools_;
  std::set<AgentId> to_offer_;  ///< agents that offer less now that something has ended there
};

}  // namespace cadre::cluster::control
