/// The kinds of changes that the part `cluster` writes. Values; safe on any thread.
#pragma once

#include <array>

#include "api/change.h"

namespace cadre::cluster::control {

inline constexpr api::ChangeKind job_changes{"job", "A job has a new stage, place in the queue or setting."};
inline constexpr api::ChangeKind task_changes{"task", "A task has a new stage, or something that it sent was refused."};
inline constexpr api::ChangeKind agent_changes{"agent", "An agent has connected, is lost, or takes other work."};
inline constexpr std::array change_kinds{job_changes, task_changes, agent_changes};

}  // namespace cadre::cluster::control
