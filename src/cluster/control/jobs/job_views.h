/// What clients are shown of jobs, tasks and actors. Pure; one thread at a time.
#pragma once

#include "cluster/control/ledger.h"
#include "cluster/requests.h"

namespace cadre::cluster::control {

requests::TaskView view(const Job& job, const TaskRow& task);
requests::JobView view(const Job& job);
/// The same with what it runs, and its earlier runs.
requests::JobView whole_view(const Job& job);
/// Of a job that is an actor.
requests::ActorView actor_view(const Ledger& ledger, const Job& job);

}  // namespace cadre::cluster::control
