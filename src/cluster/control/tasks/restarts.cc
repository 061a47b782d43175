#include "cluster/control/tasks/restarts.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/rounded.h"

namespace cadre::cluster::control {
namespace {

bool has_too_few(const Job& job) {
  return std::any_of(job.tally.roles.begin(), job.tally.roles.end(), [&](const auto& one) {
    const auto& [number, role] = one;
    return role.tasks - role.missing < job.row.spec.members[static_cast<std::size_t>(number)].minimum->count;
  });
}

bool is_impaired(const Job& job) {
  return job.row.stage == JobStage::running && (!job.restarts.empty() || has_too_few(job));
}

/// A role with fewer tasks than it needs.
struct TooFew {
  const MemberSpec& member;
  TimePoint since;  ///< as many as now were missing
};

std::optional<TooFew> too_few(const Job& job, std::size_t role) {
  const MemberSpec& member = job.row.spec.members[role];
  if (!member.minimum) return std::nullopt;
  const auto needed = static_cast<std::size_t>(member.minimum->count);
  std::size_t tasks = 0;
  std::vector<TimePoint> missing;
  for (const auto& [number, task] : job.tasks) {
    if (!job.in_run(task) || static_cast<std::size_t>(task.role) != role) continue;
    ++tasks;
    const lease::Ending* ending = ending_of(task);
    if (awaits_restart(task) || (ending != nullptr && !went_well(*ending))) missing.push_back(task.ended);
  }
  CHECK(tasks >= needed);  // it starts with that many
  if (tasks - missing.size() >= needed) return std::nullopt;
  std::sort(missing.begin(), missing.end());
  return TooFew{member, missing[tasks - needed]};
}

std::optional<TooFew> too_few(const Job& job) {
  std::optional<TooFew> first;
  if (!has_too_few(job)) return first;
  for (std::size_t role = 0; role < job.row.spec.members.size(); ++role) {
    const auto found = too_few(job, role);
    const auto end = [](const TooFew& one) { return one.since + one.member.minimum->within; };
    if (found && (!first || end(*found) < end(*first))) first.emplace(*found);
  }
  return first;
}

}  // namespace

void Restarts::judge(TaskId id, TimePoint now) {
  const Job& job = *ledger_.find(id.job);
  const lease::Ending* ending = ending_of(*ledger_.find(id));
  const std::optional<restart::Policy>& policy = ledger_.member_of(id).restart;
  if (!policy || job.row.stage != JobStage::running || ending == nullptr || was_interrupted(*ending)) return;
  TaskRow& task = ledger_.change(id);
  const TimePoint began = task.started == TimePoint{} ? task.placed : task.started;
  const restart::Judged judged = restart::judge(*policy, task.restarts, {began, task.ended, *ending});
  task.restarts = judged.restarts;
  const auto explain = [&](const std::string& why) {
    std::string& detail = task.ending.detail;
    detail += detail.empty() ? why : "; " + why;
  };
  std::visit(overloaded{
                 [&](const restart::Restart& one) {
                   tasks_.set_restart(id, one.at);
                   tasks_.step(id, lease::Again{}, now);
                 },
                 [](const restart::Finish&) {},
                 [&](const restart::GiveUp& one) { explain(one.why); },
                 [&](const restart::EndGang& one) { explain(one.why); },
             },
             judged.verdict);
  if (is_impaired(job)) impaired_.insert(id.job);
}

void Restarts::look_at(JobId id) {
  const Job* job = ledger_.find(id);
  if (job != nullptr && is_impaired(*job)) {
    impaired_.insert(id);
  } else {
    impaired_.erase(id);
  }
}

std::optional<lease::Reason> Restarts::start_due(JobId id, TimePoint now) {
  std::vector<TaskId> due;
  for (const auto& [at, member] : ledger_.find(id)->restarts) {
    if (at > now) break;
    due.push_back({id, member});
  }
  std::sort(due.begin(), due.end());
  for (const TaskId& each : due) {
    const TaskRow& task = *ledger_.find(each);
    const AgentEntry& agent = *ledger_.find(task.agent);  // one on which something is expected is not forgotten
    std::size_t is_free = 0;
    for (std::size_t slot = 0; slot < agent.users.size(); ++slot) is_free += agent.is_free(slot);
    const bool takes_work =
        agent.row.agent.enabled && !agent.row.agent.draining && agent.obstacle.empty() && is_free >= task.slots.size();
    if (agent.row.lost) return lease::Reason::agent_lost;
    if (!takes_work) return lease::Reason::preempted;
    if (!agent.peer || !agent.is_clean()) continue;  // it may come back, or be lost
    tasks_.start_again(each, now);
  }
  return std::nullopt;
}

std::optional<std::string> Restarts::shortage(const Job& job, TimePoint now) const {
  const auto found = job.row.stage == JobStage::running ? too_few(job) : std::nullopt;
  if (!found || now < found->since + found->member.minimum->within) return std::nullopt;
  const Minimum& minimum = *found->member.minimum;
  return "fewer than " + std::to_string(minimum.count) + " tasks of role " + found->member.role +
         " were available for " + rounded(minimum.within);
}

}  // namespace cadre::cluster::control
