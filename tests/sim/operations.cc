#include "tests/sim/operations.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::JobId;
using cluster::control::SlotState;
namespace requests = cluster::requests;
namespace restart = cluster::restart;

const std::string shared_group = "g";

}  // namespace

cluster::JobSpec Operations::job() {
  cluster::JobSpec spec;
  spec.priority = static_cast<std::int32_t>(dice_.between(40, 43));
  spec.preemptible = dice_.percent(40);
  if (dice_.percent(25)) spec.group = shared_group;
  if (dice_.percent(20)) spec.max_time = seconds(1, 20);
  cluster::MemberSpec member;
  member.command.argv = {"run"};
  member.policy.grace = seconds(0, 5);
  member.policy.preemption_grace = seconds(1, 10);
  member.policy.fence = dice_.percent(60) ? cluster::Fence::strict : cluster::Fence::keep;
  member.slots = static_cast<std::int32_t>(dice_.between(0, size_.slots_each));
  if (dice_.percent(40)) {
    restart::OnFailure policy;
    policy.max_restarts = static_cast<std::int32_t>(dice_.between(1, 3));
    policy.first_wait = seconds(0, 5);
    policy.longest_wait = policy.first_wait + seconds(0, 10);
    member.restart = policy;
  }
  switch (dice_.below(4)) {
    case 0:
    case 1: break;
    case 2:
      member.count = size_.agents > 1 ? 2 : 1;
      member.slots = std::min(member.slots, size_.slots_each / 2);
      break;
    default:
      member.count = 3;
      member.slots = std::min(member.slots, 1);
      member.elastic_min = 1;
  }
  spec.members.push_back(std::move(member));
  return spec;
}

cluster::JobSpec Operations::whole_cluster() const {
  cluster::JobSpec spec;
  cluster::MemberSpec member;
  member.command.argv = {"run"};
  member.count = size_.agents;
  member.slots = size_.slots_each;
  spec.members.push_back(std::move(member));
  return spec;
}

requests::Request Operations::on_job(const std::vector<JobId>& jobs) {
  const JobId job = jobs[dice_.below(jobs.size())];
  switch (dice_.below(8)) {
    case 0: return requests::KillJob{job};
    case 1:
    case 2: return requests::EndJob{job, std::nullopt};
    case 3: return requests::EndJob{job, seconds(0, 3)};
    case 4:
    case 5: return requests::MoveJob{job, jobs[dice_.below(jobs.size())], dice_.percent(50)};
    default: return set(job);
  }
}

requests::SetJob Operations::set(JobId job) {
  requests::SetJob request;
  request.job = job;
  if (dice_.percent(50)) {
    request.priority = static_cast<std::int32_t>(dice_.between(40, 43));
  } else if (dice_.percent(50)) {
    request.weight = static_cast<double>(dice_.between(1, 10));
  } else {
    request.max_slots = dice_.between(0, 3 * size_.slots_each);
  }
  return request;
}

requests::Request Operations::on_agent() {
  if (dice_.percent(20)) return requests::RemoveAgent{agent()};
  const SlotState state = dice_.percent(25)   ? SlotState::enabled
                          : dice_.percent(50) ? SlotState::draining
                                              : SlotState::disabled;
  if (dice_.percent(60)) return requests::SetAgent{agent(), state};
  const auto slot = static_cast<std::int32_t>(dice_.below(static_cast<std::size_t>(size_.slots_each)));
  return requests::SetSlot{agent(), slot, state};
}

}  // namespace cadre::sim
