/// Which system calls a task may not make. For a child process that is about to become the task.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace cadre::supervisor {

/// Whether a process may make namespaces and mount in these. They hide nothing less than those around them.
enum class Nesting : std::uint8_t { denied, allowed };

/// Denies the calling process and its children the system calls with which walls are taken down or the kernel is
/// attacked: mounts, other namespaces, kernel modules, keyrings, BPF. They fail with EPERM, as they do without the
/// rights for them. Needs no_new_privs.
[[nodiscard]] Result<void> deny_system_calls(Nesting nesting);

}  // namespace cadre::supervisor
