/// Requests of clients to the master, each with its route and response type. Values; safe on any thread.
#pragma once

#include "base/joined_variant.h"
#include "cluster/requests/agents.h"
#include "cluster/requests/execs.h"
#include "cluster/requests/jobs.h"
#include "cluster/requests/sessions.h"

namespace cadre::cluster::requests {

using Request = JoinedVariant<JobRequest, ExecRequest, SessionRequest, AgentRequest>;

}  // namespace cadre::cluster::requests
