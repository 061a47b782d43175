#include "client/actors/actor_job.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace cadre::client {

cluster::JobSpec actor_job(const ActorNeeds& needs, cluster::Command command) {
  cluster::MemberSpec member;
  member.role = "actor";
  member.count = 1;
  member.slots = needs.slots;
  member.cpus = plan::Cpus{std::llround(needs.cpus * 1'000)};
  member.memory = needs.memory;
  member.command = std::move(command);
  member.command.variables["CADRE_ACTOR_LANES"] = std::to_string(needs.lanes);
  member.command.warm = true;
  member.policy.grace = std::chrono::seconds(1);
  member.policy.liveness = needs.liveness;
  cluster::JobSpec job;
  job.name = job.actor = needs.class_name;
  if (!needs.pool.empty()) job.pool = needs.pool;
  if (!needs.workspace.empty()) job.workspace = needs.workspace;
  job.members.push_back(std::move(member));
  return job;
}

}  // namespace cadre::client
