/// What a task sees of the file system: a private /tmp, its own folder but not those of other tasks, its mounts. For a
/// child process that is about to become the task.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/task.h"

namespace cadre::supervisor {

struct View {
  std::string folder;  ///< of the task, without symbolic links; it is the current folder, too
  std::string work;    ///< where a mount with a relative target goes
  std::vector<cluster::Mount> mounts;
  bool own_proc = false;  ///< whether the calling process is in a pid namespace that needs a /proc of its own
};

/// Gives the calling process a mount namespace of its own and changes what it sees. The error says, for people, which
/// part of the command is at fault.
///
/// The folder above the task's, which holds those of all tasks, is covered if it is private (mode 0700), and so must
/// hold nothing else that tasks need.
[[nodiscard]] Result<void> take_view(const View& view);

}  // namespace cadre::supervisor
