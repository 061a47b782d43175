/// How the tasks of a job find each other: each announces its card to the master, which shows it to the others. The
/// master takes announcements only from the present run of a task, so processes of earlier runs never get in. On the
/// thread that joins.
#pragma once

#include <vector>

#include "client/gang/card.h"

namespace cadre::client {

/// The place of this task among the tasks of its job: one process for each task.
[[nodiscard]] GangCard card_of_task(const std::string& kind);

/// Announces the card, and waits for those of the other tasks: in the order of their ranks. `timed_out` names those
/// that are missing.
[[nodiscard]] Result<std::vector<GangCard>> meet_at_master(GangCard self, Duration wait);

}  // namespace cadre::client
