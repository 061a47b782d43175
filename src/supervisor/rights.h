/// As whom a process runs and with which rights. For a child process that is about to become the task.
#pragma once

#include <optional>

#include "base/result.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

struct Rights {
  std::optional<cluster::supervision::UnixUser> user;  ///< left out: it stays who it is
  bool walled = false;  ///< no capabilities, no set-user-id programs, only harmless system calls
};

/// Gives up all other rights for good. A process that stays root keeps only what root may do to files and processes
/// that it sees.
[[nodiscard]] Result<void> take_rights(const Rights& rights);

}  // namespace cadre::supervisor
