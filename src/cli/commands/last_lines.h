/// The last output of jobs that failed. For the thread of the session's loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_context.h"
#include "cluster/requests.h"

namespace cadre::cli {

[[nodiscard]] bool ended_badly(const cluster::requests::JobView& job);

/// Of the first task that did not end well. None: the output may be deleted already.
[[nodiscard]] loop::Task<std::vector<std::string>> last_lines_of(CommandContext& session,
                                                                 cluster::requests::JobView job, std::int64_t most);

}  // namespace cadre::cli
