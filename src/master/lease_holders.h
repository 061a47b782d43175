/// Which agent may write the output of which lease: fed with facts by the control loop, asked by the bulk side. Safe on
/// any thread: what is learned counts at once, before the agent that is told to start a task can send its output.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "cluster/control/rows.h"
#include "cluster/ids.h"
#include "net/keys.h"

namespace cadre::master {

/// An agent holds a lease, or held it last.
struct LeaseFact {
  cluster::LeaseId lease;
  cluster::AgentId agent;
  bool is_held = true;  ///< else it is over, and what is left of its output may still be under way
};

/// What the row of a task says of its last lease; nothing when it had none.
[[nodiscard]] std::vector<LeaseFact> lease_facts(const std::vector<cluster::control::TaskRow>& tasks);

class LeaseHolders {
 public:
  /// Of leases that are over, the last so many are remembered.
  explicit LeaseHolders(std::size_t over_max = 100'000) : over_max_(over_max) {}

  void learn(const LeaseFact& fact);
  /// This key is this agent's from now on; or nobody's.
  void set_key(const net::PublicKey& key, const cluster::AgentId& agent);
  void remove_key(const net::PublicKey& key);

  /// Whether the owner of this key holds the lease, or was the last to hold it.
  [[nodiscard]] bool may_write(const net::PublicKey& key, cluster::LeaseId lease) const;

  std::size_t remembered() const;

 private:
  struct Holder {
    cluster::AgentId agent;
    bool is_over = false;
  };
  using Leases = std::map<cluster::LeaseId, Holder>;
  void end(Leases::iterator lease);

  const std::size_t over_max_;
  mutable std::mutex mutex_;  ///< guards all that follows
  std::map<net::PublicKey, cluster::AgentId> agents_;
  Leases leases_;
  std::deque<cluster::LeaseId> over_;  ///< in the order in which they ended; some may be held again
};

}  // namespace cadre::master
