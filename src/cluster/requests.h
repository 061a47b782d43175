/// Requests of clients to the master, each with its route and response type. Values; safe on any thread.
#pragma once

#include <variant>

#include "cluster/requests/agents.h"
#include "cluster/requests/execs.h"
#include "cluster/requests/jobs.h"
#include "cluster/requests/sessions.h"

namespace cadre::cluster::requests {

using Request =
    std::variant<Submit, RunTask, ListJobs, GetJob, EndJob, KillJob, MoveJob, SetJob, Why, ListTasks, GetTask, EndTask,
                 KillTask, RunExec, SendInput, ListActors, ListSessions, KeepSession, EndSession, ListAgents, GetAgent,
                 SetAgent, RemoveAgent, SetSlot, ListSlots, ListPools, GetStatus, MakeJoinToken>;

}  // namespace cadre::cluster::requests
