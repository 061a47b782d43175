/// How a process finds the gang that it belongs to. On the thread that joins.
#pragma once

#include <memory>

#include "base/time.h"
#include "client/gang/gang.h"

namespace cadre::client {

/// Set by `cadre launch` for its workers: the socket at which they meet, and the name of their gang and place.
constexpr const char* meeting_variable = "CADRE_GANG_MEETING";
constexpr const char* gang_variable = "CADRE_GANG";
constexpr const char* place_variable = "CADRE_GANG_PLACE";

/// The gang of this process, when all of its processes are there; null: this process is alone. It was started by
/// `cadre launch` or torchrun, or is one of several tasks of a trial. `timed_out` names those that are missing.
[[nodiscard]] Result<std::unique_ptr<Gang>> join_gang(Duration wait);

}  // namespace cadre::client
