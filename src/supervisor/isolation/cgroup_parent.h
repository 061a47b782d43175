/// Where an agent may make control groups for its tasks, and the removal of those that nobody looks after any more. One
/// thread at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cluster/ids.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

/// Where the kernel says which groups there are; elsewhere only in tests.
struct CgroupSources {
  std::string own = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
};

/// Makes a group of this name below our own one: version 2 where controllers were delegated to us, else version 1, else
/// none. To have version 2 we may have to move ourselves, and those we have started, one group down: a group with
/// limits below it can hold no processes.
[[nodiscard]] cluster::supervision::CgroupParent prepare_cgroups(const std::string& name,
                                                                 const CgroupSources& sources = {});

/// What the group of a task is called.
[[nodiscard]] std::string cgroup_name(cluster::LeaseId lease);

/// Kills what runs in the groups of tasks that are not among `alive` (their supervisors died) and removes those groups.
void sweep_cgroups(const cluster::supervision::CgroupParent& parent, const std::set<cluster::LeaseId>& alive);
/// Removes what prepare_cgroups made, with the groups in it, if no process is in any of them.
void remove_cgroups(const cluster::supervision::CgroupParent& parent);

/// As long as it lives, remove_abandoned_cgroups() of other processes leaves these groups alone.
class CgroupHold {
 public:
  CgroupHold() = default;
  explicit CgroupHold(const cluster::supervision::CgroupParent& parent);

 private:
  std::vector<Descriptor> held_;
};

/// Removes groups beside these whose names begin so, that no process holds and none is in: their agents were killed.
void remove_abandoned_cgroups(const cluster::supervision::CgroupParent& parent, const std::string& prefix);

}  // namespace cadre::supervisor
