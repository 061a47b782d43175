/// What this host has and how busy it is, as the kernel tells. Safe on any thread.
#pragma once

#include <string>

#include "cluster/messages.h"

namespace cadre::agent {

struct HostFacts {
  std::string name;
  plan::Cpus cpus;  ///< that this process may use
  ByteSize memory;  ///< that this process may use
};

[[nodiscard]] HostFacts facts_of_host();
/// Another one after each start of the host; empty when the kernel does not tell.
[[nodiscard]] std::string boot_id();
[[nodiscard]] cluster::messages::Load load_of_host();
/// The home folder of the unix account of this process, whatever HOME says; empty: it has none.
[[nodiscard]] std::string home_of_account();

}  // namespace cadre::agent
