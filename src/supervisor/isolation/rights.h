/// As whom a process runs and with which rights. For a child process that is about to become the task.
#pragma once

#include <optional>

#include "base/result.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

struct Rights {
  std::optional<cluster::supervision::UnixUser> user;  ///< left out: it stays who it is
  bool walled = false;  ///< no capabilities, no set-user-id programs, only harmless system calls
  bool nests = false;   ///< it may give processes that it forks namespaces of their own
};

/// Gives up all other rights for good. A process that stays root keeps only what root may do to files and processes
/// that it sees.
[[nodiscard]] Result<void> take_rights(const Rights& rights);

/// So many processes may its user have in this user namespace; no more than before in any case.
[[nodiscard]] Result<void> limit_processes(int most);

/// Half as many files as before may be open, but no fewer than most programs need. Descriptors that are sent over
/// sockets and not received yet are counted for all processes of a user, up to the limit of the one that sends: a task
/// must not keep the agent, which may be the same user, from sending one.
[[nodiscard]] Result<void> limit_descriptors();

/// When the host runs out of memory, the kernel kills this process before agents and masters.
void be_killed_first();

}  // namespace cadre::supervisor
