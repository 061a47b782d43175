/// Where an agent may make control groups for its tasks, and the removal of those that nobody looks after any more. One
/// thread at a time.
#pragma once

#include <set>
#include <string>

#include "cluster/ids.h"
#include "cluster/supervision.h"

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
/// Removes what prepare_cgroups made, if it is empty.
void remove_cgroups(const cluster::supervision::CgroupParent& parent);

}  // namespace cadre::supervisor
