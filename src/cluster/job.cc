#include "cluster/job.h"

#include <charconv>

#include "base/check.h"

namespace cadre::cluster {

GangId gang_id(JobId id) { return GangId(std::to_string(id.value)); }

JobId job_id(const GangId& id) {
  JobId job;
  const auto [end, error] = std::from_chars(id.value.data(), id.value.data() + id.value.size(), job.value);
  CHECK(error == std::errc() && end == id.value.data() + id.value.size());
  return job;
}

AccountId account_of_user(const std::string& name) { return AccountId("user " + name); }

AccountId account_of_workspace(const std::string& name) { return AccountId("workspace " + name); }

plan::Gang gang_of(JobId id, double position, const JobSpec& spec) {
  plan::Gang gang{gang_id(id),   {},          spec.priority, position, GroupId(spec.group), spec.preemptible,
                  spec.selector, spec.exclude};
  if (spec.members.size() == 1 && !spec.members.front().count) {
    gang.wants = plan::Divisible{spec.members.front().request(), spec.single_agent, spec.uneven};
    return gang;
  }
  plan::Roles roles;
  for (const MemberSpec& member : spec.members) {
    roles.push_back(
        {member.role, member.count.value_or(1), member.request(), member.elastic_min, member.layout, member.layout_by});
  }
  gang.wants = std::move(roles);
  return gang;
}

TaskLimits limits_of(const MemberSpec& member) {
  TaskLimits limits = member.limits;
  if (limits.memory.value == 0) limits.memory = member.memory;
  if (limits.cpus.milli == 0) limits.cpus = member.cpus;
  return limits;
}

}  // namespace cadre::cluster
