/// How the shell numbers those with whom the control logic talks. Values; safe on any thread.
#pragma once

#include <cstdint>

namespace cadre::cluster::control {

/// The connection of an agent.
using Peer = std::uint64_t;

/// A request of a client, which waits for replies.
using Asker = std::uint64_t;

}  // namespace cadre::cluster::control
