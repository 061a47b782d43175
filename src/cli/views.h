/// What the master tells, as tables and texts for people. Pure but for its arguments; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cluster/requests.h"

namespace cadre::cli {

/// When it is shown, and whether in colours.
struct Showing {
  TimePoint now;
  bool coloured = false;
  std::optional<std::size_t> columns = std::nullopt;  ///< of the terminal; nothing: it is not shown on one
};

std::string jobs_text(const std::vector<cluster::requests::JobView>& jobs, const Showing& showing);
std::string job_text(const cluster::requests::JobView& job, const Showing& showing);
/// The tasks of jobs; one that waits has none yet and is shown itself.
std::string tasks_text(const std::vector<cluster::requests::JobView>& jobs, const Showing& showing);
std::string task_text(const cluster::requests::TaskView& task, const Showing& showing);
std::string actors_text(const std::vector<cluster::requests::ActorView>& actors, const Showing& showing);
std::string sessions_text(const std::vector<cluster::requests::SessionView>& sessions, const Showing& showing);
std::string agent_text(const cluster::requests::AgentView& agent);
std::string agents_text(const std::vector<cluster::requests::AgentView>& agents, const Showing& showing);
std::string pools_text(const std::vector<cluster::requests::PoolView>& pools, const Showing& showing);
std::string slots_text(const std::vector<cluster::requests::SlotView>& slots, const Showing& showing);
std::string status_text(const cluster::requests::Status& status);

}  // namespace cadre::cli
