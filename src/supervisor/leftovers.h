/// Ends processes of tasks whose supervisor is gone. Where there is a pid namespace they go with it; without isolation
/// only the leading process does. Any thread; waits.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

/// The folders of the tasks, without a slash at the end; none may have a supervisor. A process belongs to a task when
/// its environment names that task's socket, when its working folder is in the task's and it has no terminal, or when
/// it descends from such a process or is in its session. Says how many are left after `patience`.
int end_leftovers(const std::vector<std::string>& folders, Duration patience);

/// The same for the control group of a lease, if there is one.
void end_group(const cluster::supervision::CgroupParent& parent, const cluster::LeaseId& home);

}  // namespace cadre::supervisor
