/// Whether the master may work with an agent that says hello. Pure; one thread at a time.
#pragma once

#include <optional>
#include <string>

#include "cluster/control/agents/liveness.h"
#include "cluster/control/pools/pools.h"

namespace cadre::cluster::control {

class HelloCheck {
 public:
  HelloCheck(const Settings& settings, const Ledger& ledger, const Pools& pools, const Liveness& liveness)
      : settings_(settings), ledger_(ledger), pools_(pools), liveness_(liveness) {}

  /// Why the agent is refused, if it is. `proven` is the agent that the connection has authenticated, if it has.
  [[nodiscard]] std::optional<std::string> refusal(const messages::Hello& hello,
                                                   const std::optional<AgentId>& proven) const;
  /// Whether the agent has sent a later one since: this one was delayed on an older connection, and what it says of
  /// leases is not true any more.
  [[nodiscard]] bool is_outdated(const messages::Hello& hello) const;
  /// Whether its host was rebooted since its last hello. What it was told to start then may have run and left no trace,
  /// so the same lease must not be started there again.
  [[nodiscard]] bool was_rebooted_since(const messages::Hello& hello) const;

 private:
  /// Why an agent that is known is refused.
  std::optional<std::string> refusal_of_known(const AgentEntry& known, const messages::Hello& hello) const;
  /// Why this is not the agent of that name which is there, but a copy of it, if it is.
  std::optional<std::string> copied(const AgentEntry& known, const messages::Hello& hello) const;

  const Settings& settings_;
  const Ledger& ledger_;
  const Pools& pools_;
  const Liveness& liveness_;
};

}  // namespace cadre::cluster::control
