/// Looks after one task from its start to its end, in a process of its own. For the only thread of that process.
#pragma once

#include <string>

#include "supervisor/descriptor.h"
#include "supervisor/isolation/isolation_features.h"

namespace cadre::supervisor {

/// Does what folder/launch says (see cluster/supervision.h) and comes back when the task has ended, all of its tree is
/// gone, its output is in the spool and folder/ending is written. Gives the exit status for the process: 0, or 1 when
/// the folder is not fit or another supervisor is in it.
///
/// `agent` is a connection to the agent that wants it; while it has none it listens at folder/agent.sock. It is closed
/// last of all: when the agent sees it closed, nobody uses the folder any more.
///
/// `users` is the user namespace that what tasks see is locked by, if one serves them all.
///
/// The process must have no threads and no children; descriptors 0, 1 and 2 must be open. Its folder, signal mask,
/// standard error (folder/supervisor.log) and namespaces are changed.
int supervise(const std::string& folder, const IsolationFeatures& features, const Descriptor& users, Descriptor agent);

}  // namespace cadre::supervisor
