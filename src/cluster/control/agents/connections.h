/// The connections of agents, and the sessions that begin with their hellos. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/control/agents/hello_check.h"
#include "cluster/control/tasks/execs.h"

namespace cadre::cluster::control {

/// A hello, with the connection on which it came.
struct Greeting {
  Peer peer = 0;
  const messages::Hello& hello;
  const std::optional<AgentId>& proven;  ///< the agent that the connection has authenticated, if it has
};

class Connections {
 public:
  /// `boot` numbers the starts of the master: no session is given out twice.
  Connections(const Settings& settings, Ledger& ledger, Outbox& outbox, Pools& pools, Execs& execs,
              const Liveness& liveness, std::uint64_t boot);

  struct Connected {
    AgentEntry& agent;
    bool was_rebooted = false;  ///< the host, since the last hello
    std::size_t messages = 0;   ///< that were in the outbox before the connection; its welcome comes next
  };
  /// Begins a session, unless the agent is refused or the hello is outdated.
  std::optional<Connected> greet(const Greeting& greeting);
  /// Tells the agent which of its leases go on, before everything else of its session.
  void welcome(const Connected& connected, std::vector<LeaseId> keep);
  /// The agent that sent this, if the message is of its session; otherwise it is told to say hello again.
  AgentEntry* sender(Peer peer, const messages::FromAgent& message);
  /// A message to or from this agent was lost: everything is sent again after a new hello.
  void forget(Peer peer);
  /// The agent is lost, and with it its connection.
  void drop(AgentEntry& agent);
  /// The agent was removed: it is told so, and to end.
  void dismiss(AgentEntry& agent);
  /// Takes the connections over from a master that was dropped. Call it once, before anything else.
  void take_over(const Connections& dropped);
  std::size_t size() const { return peers_.size(); }

 private:
  /// What the agent says of itself replaces what was known.
  AgentEntry& connect(Peer peer, const messages::Hello& hello);

  const Settings& settings_;
  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  Execs& execs_;
  const Liveness& liveness_;
  HelloCheck check_;
  std::uint64_t boot_;
  std::uint64_t greetings_ = 0;  ///< each begins a session
  std::map<Peer, AgentId> peers_;
};

}  // namespace cadre::cluster::control
